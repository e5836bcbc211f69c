"""The configuration as Dagster's resource.

A configuration is a plain object and the resource `configuration` only holds it. What
Dagster calls the config of a resource could be overridden by whoever launches a run,
who would then choose which files are read, where results go, and the budget.

Docs: https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

from typing import TypeAlias

import dagster as dg

from lunguage_assets.configuration import Configuration

ConfigurationResource: TypeAlias = dg.ResourceParam[Configuration]
"""Type of a parameter that gets the resource `configuration`."""


def configuration_resource(configuration: Configuration) -> dg.ResourceDefinition:
    """Make the Dagster resource that hands assets a configuration.

    It takes no config and refuses any. Every run gets an object of its own, so that
    a judges file that was edited in between is read again.
    """
    return dg.ResourceDefinition(lambda _: configuration.reloaded(), config_schema={})
