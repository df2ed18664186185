import BusEffects
import BusHTTP
import BusJSON
import BusSystem
import FluxBus

/// What is started for an event.
extension EffectRunner {
    func perform(_ job: EffectMachine.Job) {
        // Programs and requests have deeds of their own.
        deeds[job.event.id] = AwaitedDeed { [self] in finish(job, .failed("it was given up")) }
        guard effect.readsState else { return perform(job, state: nil) }
        Task { [self] in
            let state = await Self.state(of: job.event, host.bus)
            host.queue.async { [self] in
                switch state {
                case .success(let state): perform(job, state: state)
                case .failure(let error):
                    let words = "the state can't be read: \(error.clause)"
                    finish(job, error.meansTooEarly ? .refused(words) : .failed(words))
                }
            }
        }
    }

    /// The state of an event's store after its commit; where the bus keeps no past, that of now, and null once it is dropped.
    private static func state(of event: EffectEvent, _ bus: Bus) async -> Result<JSON, BusError> {
        do throws(BusError) {
            do throws(BusError) {
                return .success(try await bus.state(of: event.store, at: event.revision).state)
            } catch {
                guard error.meansNeverPast else { throw error }
                return .success(try await bus.state(of: event.store).state)
            }
        } catch {
            return error.code == .unknownStore ? .success(.null) : .failure(error)
        }
    }

    private func perform(_ job: EffectMachine.Job, state: JSON?) {
        guard deeds[job.event.id] != nil else { return }
        let data = job.event.data(for: effect, state: state)
        guard state == nil || effect.isMeant(data) else { return finish(job, .notMeant) }
        do throws(EffectRefusal) {
            switch try effect.task(data) {
            case .run(let path, let arguments): run(path, arguments, job)
            case .unit(let verb, let name): ask(for: verb, name, job)
            case .post(let task): post(task, job)
            case .dispatch(let members): dispatch(members, job)
            }
        } catch {
            finish(job, .refused(error.reason))
        }
    }

    // MARK: Programs

    private func run(_ path: String, _ arguments: [String], _ job: EffectMachine.Job) {
        do throws(SystemError) {
            let child = try ChildProcess(
                path, arguments, environment: environment(of: job.event),
                input: Array((job.event.json(for: effect).encoded + "\n").utf8)
            ) { [self] failure in
                host.queue.async { [self] in ended(job, failure) }
            }
            deeds[job.event.id] = child
            host.after(effect.timeout) { [weak self, weak child] in
                guard let self, let child, deeds[job.event.id] === child else { return }
                late.insert(job.event.id)
                child.end()
            }
        } catch {
            finish(job, .failed("\(error)"))
        }
    }

    private func ended(_ job: EffectMachine.Job, _ failure: String?) {
        let isLate = late.remove(job.event.id) != nil
        let reason = isLate ? "it took longer than \(effect.timeout) and was ended" : failure
        finish(job, reason.map { .failed($0) } ?? .succeeded)
    }

    private func environment(of event: EffectEvent) -> [String] {
        let by = event.object["by"]
        let user = by?["user"]?.string ?? by?["token"]?.string ?? by?["uid"]?.encoded ?? ""
        var variables = host.environment
        variables["FLUXBUS_EFFECT"] = effect.name
        variables["FLUXBUS_STORE"] = event.store
        variables["FLUXBUS_ACTION"] = event.action
        variables["FLUXBUS_REVISION"] = "\(event.revision)"
        variables["FLUXBUS_TIME"] = event.object["time"]?.encoded ?? ""
        variables["FLUXBUS_USER"] = user
        variables["TRACEPARENT"] = event.traceparent
        return variables.map { "\($0)=\($1)" }
    }

    // MARK: Units

    private func ask(for verb: UnitVerb, _ unit: String, _ job: EffectMachine.Job) {
        do throws(SystemError) {
            try UnitJob.start(verb, unit, within: effect.timeout) { [self] failure in
                host.queue.async { [self] in
                    finish(job, failure.map { .failed($0) } ?? .succeeded)
                }
            }
        } catch {
            finish(job, .failed("\(error)"))
        }
    }

    // MARK: Requests

    private func post(_ task: PostTask, _ job: EffectMachine.Job) {
        if let absence = Transfers.absence {
            return host.queue.async { [self] in finish(job, .failed(absence)) }
        }
        let request = PostRequest(
            task, body: task.body ?? job.event.json(for: effect), key: effect.key(job.event.id, epoch: epoch),
            traceparent: job.event.traceparent, timeout: effect.timeout, credentials: host.credentials)
        deeds[job.event.id] = host.posts.send(request) { [self] outcome in
            host.queue.async { [self] in finish(job, outcome) }
        }
    }

    // MARK: Dispatches

    /// What no later attempt changes.
    private static let final: [BusError.Code] = [
        .invalidPayload, .invalidRequest, .tooLarge, .conflict, .unknownType, .unknownAction, .outcomeUnknown,
    ]

    private func dispatch(_ members: JSONObject, _ job: EffectMachine.Job) {
        let id = job.event.id
        var request = BusRequest("dispatch")
        for member in members.members { request.set(member.key, member.value) }
        request.set("key", .string(effect.key(id, epoch: epoch)))
        request.set("traceparent", job.event.traceparent.map(JSON.string))
        // It may have been committed: the bus refuses it where it can't remember that.
        if uncertain.contains(id) {
            request.set("after", .int(id.revision))
            request.set("epoch", .string(epoch))
        }
        host.bus.post(request, timeout: .after(effect.timeout)) { [self] reply in
            host.queue.async { [self] in dispatched(reply, job) }
        }
    }

    private func dispatched(_ reply: Result<JSONObject, BusError>, _ job: EffectMachine.Job) {
        switch reply {
        case .success(let reply):
            uncertain.remove(job.event.id)
            let rate = effect.limit.rate ?? .ofLoops
            if let revision = reply["revision"]?.int,
                host.ancestry.note(
                    revision, from: job.event.revision, by: effect.name, rate: rate,
                    at: MonotonicClock.nanoseconds)
            {
                pause("it causes itself, more than \(rate.count) times in \(rate.time.text)")
            }
            finish(job, .succeeded)
        case .failure(let error):
            // The answer to this attempt says nothing about earlier ones.
            if error.leavesOutcomeOpen { uncertain.insert(job.event.id) }
            let words = error.clause
            finish(job, Self.final.contains(error.code) ? .refused(words) : .failed(words))
        }
    }
}
