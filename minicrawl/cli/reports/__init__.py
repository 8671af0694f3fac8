"""Commands that read a store and show or export what is in it."""
