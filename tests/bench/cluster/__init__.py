"""Benchmarks of a cluster on one machine.

groups      control groups, which limit the processes of a node to a part of a core
nodes       nodes in processes of their own
served      a web of many hosts behind one nginx
scaling     the pace with a growing number of nodes
moving      the pause of a large shard that moves to another node
agreeing    comparison of the pages that one machine and a cluster read with the same budget
simulate    many nodes in shards, simulated: importance gathered, and traffic
"""
