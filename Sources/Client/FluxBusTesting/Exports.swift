// Tests of a client need the client, and one import is enough.
@_exported import FluxBus
