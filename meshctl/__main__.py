"""`python -m meshctl` is `meshctl`."""

from meshctl.cli.main import main

if __name__ == "__main__":
    main()
