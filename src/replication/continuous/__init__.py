"""What continuous re-verification shows and keeps: changes of the reference, and a history."""
