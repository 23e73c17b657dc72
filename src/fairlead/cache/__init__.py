"""Layer 3: local copies. List and watch become mirrors that know their revision; views read them."""
