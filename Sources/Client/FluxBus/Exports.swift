// A Swift client of a bus writes states and reads JSON, so one import brings both.
@_exported import BusTypes
@_exported import Flux
