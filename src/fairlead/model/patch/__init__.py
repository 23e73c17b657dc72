"""The three ways to change part of an object: merge patch, JSON patch, strategic merge patch.

Each is a pure function from the current object and a decoded patch to a new object. The result shares no dict
or list with either, so the caller may go on changing it. A patch that cannot be read is BadRequest; one that
can be read but does not fit the object is Invalid.
"""
