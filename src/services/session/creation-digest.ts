import { createHash } from 'node:crypto'
import type { SealedVariable } from '../../domain/session/sealed-variable.ts'
import { canonicalJson } from '../input/canonical-json.ts'
import type { ParsedCreateSession } from './create-session-input.ts'

/** 128 bits: a digest only tells a repeated request from a different one. */
const DIGEST_BYTES = 16

/**
 * Fingerprint of what a client asked for, equal for inputs that ask for the same: defaults of fields are filled in,
 * amounts, ids and times have one form, and the order of variables, labels, agents, dependencies and slots does not
 * count. The policy is compared as given, so that defaults of projects may change between two requests. Fields without
 * a value are left out: a field that a later release adds changes no digest.
 */
export function creationDigest(input: Asked, secrets: readonly SealedVariable[]): string {
  const { environ, allowAgents, avoidAgents, excludeAgents, dependsOn, startsAt } = input
  const asked = Object.entries({
    ...input,
    creationId: null,
    environ: environ.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    // A digest without a key would give away whether a guess is right.
    secretEnviron: secrets.map(({ name, digest }) => ({ name, digest })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    allowAgents: allowAgents?.toSorted(),
    avoidAgents: avoidAgents?.toSorted(),
    excludeAgents: excludeAgents?.toSorted(),
    dependsOn: [...new Set(dependsOn)].toSorted(),
    startsAt: startsAt?.toISOString(),
  }).filter(([, value]) => !isEmpty(value))
  const hash = createHash('sha256').update(canonicalJson(Object.fromEntries(asked)))
  return hash.digest().subarray(0, DIGEST_BYTES).toString('base64url')
}

/** The parsed input of a session or of a deployment, which has fewer of these. */
type Asked = Pick<ParsedCreateSession, 'environ'> &
  Partial<Pick<ParsedCreateSession, 'allowAgents' | 'avoidAgents' | 'excludeAgents' | 'dependsOn' | 'startsAt'>>

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
