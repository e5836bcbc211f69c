"""Reading the findings file of a Lunguage delivery."""
