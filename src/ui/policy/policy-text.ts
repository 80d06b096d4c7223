import { POLICY_FIELDS, type Draft } from './policy-fields.ts'

/** For `--policy`, or `retryPolicy` of the API. */
export function policyAsJson(policy: object): string {
  return JSON.stringify(policy, null, 2)
}

/** A command that runs something under this policy: with options, or with the policy as text where options do not do. */
export function policyAsCommand(draft: Draft, policy: object): string {
  const options = policyOptions(draft)
  if (options === null || options.length === 0) return policyAsInput(policy)
  return ['npx reprise run', ...options, '-- COMMAND'].join(' \\\n  ')
}

/** What is typed as options of the command line; null where they do not do. */
export function policyOptions(draft: Draft): string[] | null {
  const given = POLICY_FIELDS.filter(({ name }) => (draft[name]?.trim() ?? '') !== '')
  if (given.some(({ option }) => option === undefined) || draft['on'] === 'none') return null
  return given.map(({ name, kind, option }) =>
    kind === 'switch' ? option! : `${option!} ${draft[name]!.trim().replace(/\s+/g, '')}`,
  )
}

/** With the policy from standard input. */
export function policyAsInput(policy: object): string {
  return `npx reprise run --policy - -- COMMAND <<'JSON'\n${policyAsJson(policy)}\nJSON`
}
