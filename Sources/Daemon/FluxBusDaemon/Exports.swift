// Who writes a custom daemon imports this module alone: states and their mutations come from Flux, what the wire
// needs to know of them from BusTypes.
@_exported import BusTypes
@_exported import Flux
