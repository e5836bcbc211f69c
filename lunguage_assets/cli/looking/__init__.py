"""Commands that show what is there, or hold it against what people say."""
