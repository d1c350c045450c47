"""From the manifests of a wrapper and the settings of the user to its plan."""
