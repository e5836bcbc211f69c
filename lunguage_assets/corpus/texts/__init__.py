"""Reading raw reports: folders, tables and packages of texts."""
