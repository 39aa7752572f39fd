"""Which fields the JSON of a service has and of which type, as data read off the run_v2 types.

A message is a dict, a repeated field a list of its one type, an enum a tuple of its names by
number, everything else one of the words below. Pure.
"""

from __future__ import annotations

from typing import Any

Type = Any
"""A word, a dict (message), a list of one type (repeated) or a tuple (enum)."""
STRING, INT32, INT64, BOOL, DURATION = "TYPE_STRING", "TYPE_INT32", "TYPE_INT64", "TYPE_BOOL", "s"
MAP = "map of strings"
ANY = "whatever it is: an output of the server, read by nobody"

_TRAFFIC = "TRAFFIC_TARGET_ALLOCATION_TYPE_"
LATEST, REVISION = _TRAFFIC + "LATEST", _TRAFFIC + "REVISION"
TRAFFIC_TYPE = (_TRAFFIC + "UNSPECIFIED", LATEST, REVISION)
INGRESS = (
    "INGRESS_TRAFFIC_UNSPECIFIED",
    "INGRESS_TRAFFIC_ALL",
    "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
    "INGRESS_TRAFFIC_NONE",
)
LAUNCH_STAGE = (
    "LAUNCH_STAGE_UNSPECIFIED",
    "EARLY_ACCESS",
    "ALPHA",
    "BETA",
    "GA",
    "DEPRECATED",
    "UNIMPLEMENTED",
    "PRELAUNCH",
)
EXECUTION = (
    "EXECUTION_ENVIRONMENT_UNSPECIFIED",
    "EXECUTION_ENVIRONMENT_GEN1",
    "EXECUTION_ENVIRONMENT_GEN2",
)
REVOCATION = ("ENCRYPTION_KEY_REVOCATION_ACTION_UNSPECIFIED", "PREVENT_NEW", "SHUTDOWN")

VPC: Type = {
    "connector": STRING,
    "egress": ("VPC_EGRESS_UNSPECIFIED", "ALL_TRAFFIC", "PRIVATE_RANGES_ONLY"),
    "networkInterfaces": [{"network": STRING, "subnetwork": STRING, "tags": [STRING]}],
}
PROBE: Type = {
    "initialDelaySeconds": INT32,
    "timeoutSeconds": INT32,
    "periodSeconds": INT32,
    "failureThreshold": INT32,
    "httpGet": {
        "path": STRING,
        "httpHeaders": [{"name": STRING, "value": STRING}],
        "port": INT32,
    },
    "tcpSocket": {"port": INT32},
    "grpc": {"port": INT32, "service": STRING},
}
CONTAINER: Type = {
    "name": STRING,
    "image": STRING,
    "sourceCode": {"cloudStorageSource": {"bucket": STRING, "object": STRING, "generation": INT64}},
    "command": [STRING],
    "args": [STRING],
    "env": [
        {
            "name": STRING,
            "value": STRING,
            "valueSource": {"secretKeyRef": {"secret": STRING, "version": STRING}},
        }
    ],
    "resources": {"limits": MAP, "cpuIdle": BOOL, "startupCpuBoost": BOOL},
    "ports": [{"name": STRING, "containerPort": INT32}],
    "volumeMounts": [{"name": STRING, "mountPath": STRING, "subPath": STRING}],
    "workingDir": STRING,
    "livenessProbe": PROBE,
    "startupProbe": PROBE,
    "readinessProbe": PROBE,
    "dependsOn": [STRING],
    "baseImageUri": STRING,
    "buildInfo": {"functionTarget": STRING, "sourceLocation": STRING},
}
VOLUME: Type = {
    "name": STRING,
    "secret": {
        "secret": STRING,
        "items": [{"path": STRING, "version": STRING, "mode": INT32}],
        "defaultMode": INT32,
    },
    "cloudSqlInstance": {"instances": [STRING]},
    "emptyDir": {"medium": ("MEDIUM_UNSPECIFIED", "MEMORY"), "sizeLimit": STRING},
    "nfs": {"server": STRING, "path": STRING, "readOnly": BOOL},
    "gcs": {"bucket": STRING, "readOnly": BOOL, "mountOptions": [STRING]},
}
TEMPLATE: Type = {
    "revision": STRING,
    "labels": MAP,
    "annotations": MAP,
    "scaling": {"minInstanceCount": INT32, "maxInstanceCount": INT32},
    "vpcAccess": VPC,
    "timeout": DURATION,
    "serviceAccount": STRING,
    "containers": [CONTAINER],
    "volumes": [VOLUME],
    "executionEnvironment": EXECUTION,
    "encryptionKey": STRING,
    "maxInstanceRequestConcurrency": INT32,
    "serviceMesh": {"mesh": STRING},
    "encryptionKeyRevocationAction": REVOCATION,
    "encryptionKeyShutdownDuration": DURATION,
    "sessionAffinity": BOOL,
    "healthCheckDisabled": BOOL,
    "nodeSelector": {"accelerator": STRING},
    "gpuZonalRedundancyDisabled": BOOL,
}
WISHES: Type = {
    "description": STRING,
    "labels": MAP,
    "annotations": MAP,
    "client": STRING,
    "clientVersion": STRING,
    "ingress": INGRESS,
    "launchStage": LAUNCH_STAGE,
    "binaryAuthorization": {
        "useDefault": BOOL,
        "policy": STRING,
        "breakglassJustification": STRING,
    },
    "template": TEMPLATE,
    "traffic": [{"type": TRAFFIC_TYPE, "revision": STRING, "percent": INT32, "tag": STRING}],
    "scaling": {
        "minInstanceCount": INT32,
        "scalingMode": ("SCALING_MODE_UNSPECIFIED", "AUTOMATIC", "MANUAL"),
        "maxInstanceCount": INT32,
        "manualInstanceCount": INT32,
    },
    "invokerIamDisabled": BOOL,
    "defaultUriDisabled": BOOL,
    "iapEnabled": BOOL,
    "multiRegionSettings": {"regions": [STRING], "multiRegionId": STRING},
    "customAudiences": [STRING],
    "buildConfig": ANY,
    "threatDetectionEnabled": BOOL,
}
"""What a client may ask for; an update mask names these."""
UPDATABLE = tuple(WISHES)
_OUTPUTS = (
    "uid",
    "generation",
    "createTime",
    "updateTime",
    "deleteTime",
    "expireTime",
    "creator",
    "lastModifier",
    "urls",
    "observedGeneration",
    "terminalCondition",
    "conditions",
    "latestReadyRevision",
    "latestCreatedRevision",
    "trafficStatuses",
    "uri",
    "satisfiesPzs",
    "reconciling",
)
SERVICE: Type = {**WISHES, "name": STRING, "etag": STRING, **dict.fromkeys(_OUTPUTS, ANY)}
"""What a body may hold; the server's own fields are ignored, as when a client writes back what
it has read."""
