"""What a cluster costs and brings, on one machine.

groups      control groups, which hold the processes of a node to a part of a core
nodes       nodes that are processes, and when they hold their shards
served      a web of many hosts behind one nginx
scaling     the pace with more and more nodes
moving      how long a large shard is read by nobody when it moves
agreeing    the pages that one machine and a cluster spend the same budget on
"""
