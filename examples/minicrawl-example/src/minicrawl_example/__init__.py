"""What a package can add to minicrawl."""
