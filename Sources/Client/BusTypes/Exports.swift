// What a state is made of, and how its values look on the wire: nothing else of what reads and writes JSON here.
@_exported import Flux

@_exported import enum BusJSON.JSON
@_exported import struct BusJSON.JSONCodingError
@_exported import struct BusJSON.JSONError
@_exported import struct BusJSON.JSONObject
