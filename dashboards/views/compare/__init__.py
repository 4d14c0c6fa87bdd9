"""What differs between two dates, or two topics?"""
