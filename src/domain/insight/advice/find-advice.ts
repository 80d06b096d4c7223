import type { Advice } from './advice.ts'
import { type AdvisedAttempt, chainsOf, findOutages } from './attempts.ts'
import { agentsOf, findBadPlaces, gpusOf, PlaceFacts } from './place-advice.ts'
import { findTooLittleMemory, findTooLittleTime, findTooMuchMemory } from './resource-advice.ts'
import { findBursts, findLongOutages, findUnusedRetries, findUselessRetries, retriedIn } from './retry-advice.ts'

/** Finds advice in attempts of many projects, which are added one project at a time. */
export class AdviceSearch {
  readonly #agents = new PlaceFacts(agentsOf)
  readonly #gpus = new PlaceFacts(gpusOf)

  /** Advice about machines, from the attempts of all projects. */
  places(): Advice[] {
    return mostWasteFirst(findBadPlaces(this.#agents, this.#gpus))
  }

  /** @returns advice for the project alone, what wastes most first; found in steps of some milliseconds for 10,000 attempts */
  *addProject(attempts: readonly AdvisedAttempt[]): Generator<void, Advice[]> {
    const isInOutage = findOutages(attempts)
    const usual = attempts.filter((attempt) => !isInOutage(attempt))
    yield this.#agents.add(usual)
    yield this.#gpus.add(usual)
    const chains = chainsOf(attempts)
    yield
    const all = retriedIn(chains)
    const retried = all.filter(({ failed, retry }) => !isInOutage(failed) && !isInOutage(retry))
    const useless = findUselessRetries(retried)
    const found = [...useless]
    const steps = [
      () => findUnusedRetries(retried, useless),
      () => findTooLittleMemory(chains),
      () => findTooLittleTime(chains),
      () => findTooMuchMemory(attempts),
      () => findLongOutages(chains),
      () => findBursts(all),
    ]
    for (const step of steps) yield void found.push(...step())
    return mostWasteFirst(found)
  }
}

/** Machines have about this much memory for each CPU. */
const GIB_PER_CPU = 4

/** Waste of CPU time and of memory on one scale, in CPU hours. */
export function wasteOf({ slotSeconds, gibHours }: Pick<Advice, 'slotSeconds' | 'gibHours'>): number {
  return Math.max(slotSeconds / 3_600, gibHours / GIB_PER_CPU)
}

function mostWasteFirst(advice: Advice[]): Advice[] {
  return advice.toSorted((a, b) => wasteOf(b) - wasteOf(a))
}
