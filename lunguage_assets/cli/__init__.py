"""Commands of `lunguage`, one module each."""
