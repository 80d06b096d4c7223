import { type Advice, examplesOf } from './advice.ts'
import { type AdvisedAttempt, slotSecondsOf } from './attempts.ts'
import { moreFailuresByChance, type Stratum, type Trials } from './statistics.ts'

/**
 * A machine is bad if it fails what others finish: at least 10 chains ran on it, at least a fifth of them and twice as many
 * as elsewhere failed, on at least 3 days, and chance alone would show that for any machine of the cluster once in a hundred
 * times.
 */
export const BAD_PLACE = { chains: 10, share: 0.2, ratio: 2, days: 3, chance: 0.01 } as const

const DAY_MS = 86_400_000
const STRATUM_MS = 7 * DAY_MS

/** One chain in one place. */
interface Visit {
  place: string
  chainId: string
  failed: boolean
  /** Of its last attempt there. */
  day: number
  slotSeconds: number
}

/**
 * Compares places by chains of the same name and week in the same project, because a name that fails often says nothing
 * about a machine. Attempts of many projects are added one project at a time.
 */
export class PlaceFacts {
  readonly #placesOf: (attempt: AdvisedAttempt) => readonly string[]
  /** By stratum, then place. */
  readonly #strata: Map<string, Map<string, Trials>>[] = []
  readonly #failures = new Map<string, Visit[]>()

  constructor(placesOf: (attempt: AdvisedAttempt) => readonly string[]) {
    this.#placesOf = placesOf
  }

  /** @param attempts of one project, without those of outages */
  add(attempts: readonly AdvisedAttempt[]): void {
    const strata = new Map<string, Map<string, Trials>>()
    const told = attempts.filter(tellsOfPlace)
    for (const [key, own] of Map.groupBy(told, ({ name, endedMs }) => `${Math.floor(endedMs / STRATUM_MS)} ${name}`)) {
      const places = new Map<string, Trials>()
      for (const visit of this.#visits(own)) {
        const { trials, failures } = places.get(visit.place) ?? { trials: 0, failures: 0 }
        places.set(visit.place, { trials: trials + 1, failures: failures + Number(visit.failed) })
        if (visit.failed) this.#failures.set(visit.place, [...(this.#failures.get(visit.place) ?? []), visit])
      }
      if (places.size > 1) strata.set(key, places)
    }
    this.#strata.push(strata)
  }

  #visits(attempts: readonly AdvisedAttempt[]): Visit[] {
    const visits = new Map<string, Visit>()
    for (const attempt of attempts) {
      for (const place of this.#placesOf(attempt)) {
        const key = `${attempt.chainId} ${place}`
        const { chainId, endedMs } = attempt
        const day = Math.floor(endedMs / DAY_MS)
        const known = visits.get(key) ?? { place, chainId, failed: false, day, slotSeconds: 0 }
        const failed = attempt.outcome === 'FAILED'
        const slotSeconds = known.slotSeconds + (failed ? slotSecondsOf(attempt) : 0)
        visits.set(key, { ...known, failed: known.failed || failed, slotSeconds })
      }
    }
    return [...visits.values()]
  }

  /** All places that were compared. */
  places(): string[] {
    const all = this.#strata.flatMap((strata) => [...strata.values()].flatMap((places) => [...places.keys()]))
    return [...new Set(all)]
  }

  bad(): BadPlace[] {
    const tables = this.#strata.flatMap((strata) => [...strata.values()])
    const places = new Map<string, Stratum[]>()
    for (const table of tables) {
      const all = sum(table.values())
      for (const [place, here] of table) {
        const elsewhere = { trials: all.trials - here.trials, failures: all.failures - here.failures }
        places.set(place, [...(places.get(place) ?? []), { here, elsewhere }])
      }
    }
    return [...places].flatMap(([place, strata]) => {
      const here = sum(strata.map((stratum) => stratum.here))
      const elsewhere = sum(strata.map((stratum) => stratum.elsewhere))
      const elsewhereShare = elsewhere.failures / elsewhere.trials
      const share = here.failures / here.trials
      const isWorse = share >= BAD_PLACE.share && share >= BAD_PLACE.ratio * elsewhereShare
      if (here.trials < BAD_PLACE.chains || !isWorse) return []
      const failures = this.#failures.get(place) ?? []
      if (new Set(failures.map(({ day }) => day)).size < BAD_PLACE.days) return []
      const chance = Math.min(1, moreFailuresByChance(strata) * places.size)
      if (chance >= BAD_PLACE.chance) return []
      return [
        {
          place,
          facts: { failed: here.failures, chains: here.trials, elsewhereShare, chance },
          waste: {
            count: here.failures,
            slotSeconds: failures.reduce((total, { slotSeconds }) => total + slotSeconds, 0),
            gibHours: 0,
            examples: examplesOf(failures.map(({ chainId }) => chainId)),
          },
        },
      ]
    })
  }
}

interface BadPlace {
  place: string
  facts: { failed: number; chains: number; elsewhereShare: number; chance: number }
  waste: Pick<Advice, 'count' | 'slotSeconds' | 'gibHours' | 'examples'>
}

/** Lack of memory and time follow from what was requested. */
function tellsOfPlace({ outcome, cause, timedOut }: AdvisedAttempt): boolean {
  return outcome === 'SUCCEEDED' || (outcome === 'FAILED' && cause !== 'OOM_KILLED' && !timedOut)
}

function sum(all: Iterable<Trials>): Trials {
  let [trials, failures] = [0, 0]
  for (const each of all) {
    trials += each.trials
    failures += each.failures
  }
  return { trials, failures }
}

/** The parts of the name of a GPU as a place. */
const SEPARATOR = ' '

export function agentsOf({ agentId }: AdvisedAttempt): string[] {
  return agentId === null ? [] : [agentId]
}

export function gpusOf({ agentId, gpus }: AdvisedAttempt): string[] {
  return agentId === null ? [] : gpus.map((uuid) => `${agentId}${SEPARATOR}${uuid}`)
}

/** A GPU is to blame for its agent, rather than the agent, with this share of the failures there. */
const BLAMED_SHARE = 2 / 3

/** Bad agents, and bad GPUs of others. An agent with a single GPU is one place. */
export function findBadPlaces(agents: PlaceFacts, gpus: PlaceFacts): Advice[] {
  const badAgents = new Map(agents.bad().map((bad) => [bad.place, bad]))
  const gpusByAgent = Map.groupBy(gpus.places(), agentOfGpu)
  const isBlamed = ({ place, facts }: BadPlace) => {
    const agent = badAgents.get(agentOfGpu(place))
    if (agent === undefined) return true
    return gpusByAgent.get(agent.place)!.length > 1 && facts.failed >= BLAMED_SHARE * agent.facts.failed
  }
  const badGpus = gpus.bad().filter(isBlamed)
  for (const { place } of badGpus) badAgents.delete(agentOfGpu(place))
  return [...[...badAgents.values()].map(agentAdvice), ...badGpus.map(gpuAdvice)]
}

function agentOfGpu(place: string): string {
  return place.slice(0, place.indexOf(SEPARATOR))
}

function agentAdvice({ place: agentId, facts, waste }: BadPlace): Advice {
  const evidence = { kind: 'BAD_AGENT' as const, agentId, ...facts }
  return { subject: agentId, evidence, patch: { kind: 'DRAIN_AGENT', agentId }, ...waste }
}

function gpuAdvice({ place, facts, waste }: BadPlace): Advice {
  const agentId = agentOfGpu(place)
  const uuid = place.slice(agentId.length + SEPARATOR.length)
  const evidence = { kind: 'BAD_GPU' as const, agentId, uuid, ...facts }
  return { subject: uuid, evidence, patch: { kind: 'TAKE_GPU', agentId, uuid }, ...waste }
}
