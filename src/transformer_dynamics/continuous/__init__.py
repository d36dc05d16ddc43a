"""What continuous re-verification shows and keeps: changes of the lock, and a history."""
