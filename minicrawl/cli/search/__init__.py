"""Commands that find pages by what they say, and that know whether people agree."""
