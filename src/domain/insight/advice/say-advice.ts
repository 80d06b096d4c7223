import type { AdviceEvidence, AdvicePatch } from './advice.ts'

/** Advice in sentences. */
export interface AdviceWords {
  /** What was found. */
  finding: string
  /** What would be changed. */
  change: string
}

/** @param named the name of the agent or group of failures that the evidence refers to; null if it no longer exists */
export function sayAdvice(evidence: AdviceEvidence, patch: AdvicePatch, named: string | null): AdviceWords {
  return { finding: sayFinding(evidence, named), change: sayChange(evidence, patch, named) }
}

function sayFinding(evidence: AdviceEvidence, named: string | null): string {
  switch (evidence.kind) {
    case 'NEVER_SUCCEEDS': {
      const { exitCode, retries, chains } = evidence
      return `Exit code ${exitCode} was retried ${times(retries)} in ${count(chains, 'chain')}, and no retry succeeded.`
    }
    case 'RETRIES_UNUSED': {
      const { after, retries, chains } = evidence
      return `No retry after the ${ordinal(after)} succeeded: ${retries} were made in ${count(chains, 'chain')}.`
    }
    case 'MEMORY_TOO_LOW': {
      const { name, chains, succeeded, leastBytes, requestBytes, retries } = evidence
      return name === null
        ? `No retry with as much memory as before succeeded after a lack of memory: ${retries} were made in ${count(chains, 'chain')}.`
        : `${succeeded} of ${count(chains, 'chain')} of ${name} that ran out of memory succeeded later, all with at least ${bytes(leastBytes)}. They began with ${bytes(requestBytes)}.`
    }
    case 'MEMORY_TOO_HIGH': {
      const { name, attempts, requestBytes, highestBytes } = evidence
      return `${name} requests ${bytes(requestBytes)} and used at most ${bytes(highestBytes)} in ${count(attempts, 'run')}.`
    }
    case 'TIMEOUT_TOO_LOW': {
      const { name, chains, succeeded, leastSeconds, timeoutSeconds, retries } = evidence
      return name === null
        ? `No retry with the same batch timeout succeeded after a timeout: ${retries} were made in ${count(chains, 'chain')}.`
        : `${succeeded} of ${count(chains, 'chain')} of ${name} that ran out of time succeeded later, all with at least ${span(leastSeconds)}. They began with ${span(timeoutSeconds)}.`
    }
    case 'OUTAGE_TOO_LONG': {
      const { cause, outages, longer, retriesSeconds, chains } = evidence
      return `${longer} of ${count(outages, 'outage')} with ${cause} lasted longer than ${span(retriesSeconds)}, after which retries have ended; ${count(chains, 'chain')} failed.`
    }
    case 'MANY_FAIL_AT_ONCE': {
      const { times: often, chains, retries } = evidence
      return `One failure hit many chains at once ${times(often)}, ${chains} in all, and ${count(retries, 'retry', 'retries')} failed, too: ${named ?? 'a group of failures'}.`
    }
    case 'BAD_AGENT':
    case 'BAD_GPU': {
      const { failed, chains, elsewhereShare, chance } = evidence
      const place =
        evidence.kind === 'BAD_GPU' ? `GPU ${evidence.uuid} of ${named ?? 'an agent'}` : (named ?? 'An agent')
      return `${place} failed ${failed} of ${count(chains, 'chain')}; of such chains elsewhere, ${percent(elsewhereShare)} fail. The probability that chance does this to any one of them is ${probability(chance)}.`
    }
  }
}

function sayChange(evidence: AdviceEvidence, patch: AdvicePatch, named: string | null): string {
  switch (patch.kind) {
    case 'POLICY':
      return sayPolicy(evidence)
    case 'BREAKER': {
      const { chains, window } = patch.breaker
      return `Hold the retries of a failure that hits ${chains} chains within ${span(window)}, but for single probes.`
    }
    case 'REQUEST': {
      const { name, memoryBytes, timeoutSeconds } = patch
      return memoryBytes !== undefined
        ? `Request ${bytes(memoryBytes)} of memory for ${name}.`
        : `Give ${name} a batch timeout of ${span(timeoutSeconds ?? 0)}.`
    }
    case 'DRAIN_AGENT':
      return `Drain ${named ?? 'the agent'}: it gets no new work until it is resumed.`
    case 'TAKE_GPU':
      return `Take the GPU out of service until it is returned.`
  }
}

function sayPolicy(evidence: AdviceEvidence): string {
  switch (evidence.kind) {
    case 'NEVER_SUCCEEDS':
      return `End chains at exit code ${evidence.exitCode}.`
    case 'RETRIES_UNUSED':
      return `Retry at most ${times(evidence.after)}.`
    case 'MEMORY_TOO_LOW':
      return `Double the memory of each retry after a lack of memory.`
    case 'TIMEOUT_TOO_LOW':
      return `Double the batch timeout of each retry after a timeout.`
    case 'OUTAGE_TOO_LONG':
    case 'MEMORY_TOO_HIGH':
    case 'MANY_FAIL_AT_ONCE':
    case 'BAD_AGENT':
    case 'BAD_GPU':
      return `Wait longer between retries, so that they outlast most outages.`
  }
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}

function times(number: number): string {
  return number === 1 ? 'once' : `${number} times`
}

function ordinal(number: number): string {
  const endings: Record<number, string> = { 1: 'st', 2: 'nd', 3: 'rd' }
  const isTeen = number % 100 >= 11 && number % 100 <= 13
  return `${number}${(isTeen ? undefined : endings[number % 10]) ?? 'th'}`
}

const UNITS = [
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
] as const

function bytes(amount: number): string {
  const [size, unit] = UNITS.find(([each]) => amount >= each) ?? UNITS[2]
  return `${Number((amount / size).toPrecision(3))} ${unit}`
}

function span(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return `${Number((seconds / 3_600).toPrecision(2))} h`
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`
}

function probability(chance: number): string {
  return chance < 1e-6 ? 'below 1 in a million' : `1 in ${Math.round(1 / chance)}`
}
