// A custom daemon imports this module alone: states and their mutations come from Flux, their
// form on the wire from BusTypes.
@_exported import BusTypes
@_exported import Flux
