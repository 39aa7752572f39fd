"""The supervisor on a GPU: routes requests to its engines and to its peers. Own process."""
