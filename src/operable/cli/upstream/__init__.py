"""What the commands `operable upstream …` share."""
