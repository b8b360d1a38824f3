"""Runs of bodies that fly, spin and bounce: free motion, time of impact, and the impacts."""
