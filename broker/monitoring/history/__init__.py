"""What queues and links did over time: samples, in resolutions that fall with age.

sampling: a sample each ten seconds in which something changed
levels: ten seconds become minutes, minutes become hours; old samples are deleted
packing: the counts of all queues in one value
reading: the points of a chart
"""
