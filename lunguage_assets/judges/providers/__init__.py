"""Language models behind the providers' official SDKs, or in this process."""
