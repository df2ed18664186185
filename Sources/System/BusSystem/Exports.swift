// Who uses the system measures time.
@_exported import BusTime
