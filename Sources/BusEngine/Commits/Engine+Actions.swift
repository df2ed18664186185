import BusJSON
import BusProtocol

/// Actions as events and as causes.
extension Engine {
    /// Encodes the plan's actions for the shapes that want actions.
    func publishActions(by: [UInt8]) {
        let events = publication.actions
        events.clear()
        publication.actionEnds.removeAll(keepingCapacity: true)
        for (index, action) in plan.actions.elements.enumerated() {
            let wanting = shapesWantingActions(action)
            if wanting.isEmpty { continue }
            appendEvent(action, index: plan.actions.count > 1 ? index : nil, by: by, to: events)
            publication.actionEnds.append(events.count)
            for shape in wanting { content(of: shape)?.actions.append(publication.actionEnds.count - 1) }
        }
        work += events.count * Work.encodedByte
    }

    /// The shapes that are told of an action: those of every type it reaches, and those of the stores it
    /// reached.
    private func shapesWantingActions(_ action: DispatchPlan.Action) -> [Shape] {
        var wanting: [Shape] = []
        publishedActions += 1
        func insert(_ shape: Shape) {
            // Several types of one action may have the same shapes.
            guard shape.key.actions, shape.lastAction < publishedActions else { return }
            shape.lastAction = publishedActions
            wanting.append(shape)
        }
        for place in action.steps {
            let step = plan.steps[place]
            for shape in step.type.shapes { insert(shape) }
            if step.store >= 0 {
                let record = stores.pointer(step.store)
                for shape in record.pointee.shapes { insert(shape) }
                for shape in searchingActionShapes
                where shape.key.pattern.type.matches(step.type.name)
                    && shape.key.pattern.name.matches(record.pointee.name)
                { insert(shape) }
            } else {
                for shape in partialActionShapes where shape.membersByType[step.type.index] ?? 0 > 0 {
                    insert(shape)
                }
                // Those that are still looking for their stores may have one of this type.
                for shape in searchingActionShapes
                where step.type.count > 0 && shape.key.pattern.type.matches(step.type.name) { insert(shape) }
            }
        }
        return wanting
    }

    /// The part of an action event that all subscribers share, behind `"sub":N`.
    private func appendEvent(
        _ action: DispatchPlan.Action, index: Int?, by: [UInt8], to writer: ByteWriter
    ) {
        writer.append(",\"revision\":")
        writer.append(decimal: revision)
        if let index {
            writer.append(",\"index\":")
            writer.append(decimal: index)
        }
        writer.append(UInt8(ascii: ","))
        append(action, to: writer)
        writer.append(",\"by\":")
        by.withUnsafeBytes { writer.append($0) }
        writer.append(",\"time\":")
        append(milliseconds: now, to: writer)
    }

    /// `"type":…,"action":…,"payload":…`, or with `store`.
    func append(_ action: DispatchPlan.Action, to writer: ByteWriter) {
        let step = plan.steps[action.steps.lowerBound]
        if action.payloadForEveryType != nil {
            writer.append("\"type\":\"*\"")
        } else if step.store >= 0 {
            writer.append("\"store\":")
            writer.append(quoted: address(of: Int(step.store)))
        } else {
            writer.append("\"type\":")
            writer.append(quoted: step.type.name)
        }
        writer.append(",\"action\":")
        writer.append(quoted: step.type.actionName(step.action))
        writer.append(",\"payload\":")
        writer.append(jsonObject: action.payloadForEveryType ?? step.payload)
    }

    /// Seconds since 1970 with three decimals.
    func append(milliseconds: Int, to writer: ByteWriter) {
        writer.append(double: Double(milliseconds) / 1000)
    }

    /// `,"cause":{…}` of the commit being published.
    func cause(by: [UInt8], actions: Bool) -> ByteWriter {
        if let cause = publication.cause { return cause }
        let writer = ByteWriter()
        writer.append(",\"cause\":{\"actions\":[")
        if actions {
            for (index, action) in plan.actions.elements.enumerated() {
                writer.append(index == 0 ? "{" : ",{")
                append(action, to: writer)
                writer.append("}")
            }
        }
        writer.append("],\"by\":")
        by.withUnsafeBytes { writer.append($0) }
        writer.append(",\"time\":")
        append(milliseconds: now, to: writer)
        writer.append("}")
        publication.cause = writer
        return writer
    }
}
