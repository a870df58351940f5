"""Runs the benchmark: stages in the fail-fast order, each stopped by its kill line; every query measured is kept.

plan          what a run measures: world, scales, systems, and the stages
record_files  one file for each system and scale, a line for each query
worlds        the worlds and their indexes, built once
measuring     fills the record files
run           stage by stage; `run_benchmark`
"""
