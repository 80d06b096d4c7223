import type { ResubmissionOverrides } from '../../client/schema-types.generated.ts'

/** What was typed of what a resubmission changes, by names of fields: `slot.cpu`, `env.LR`, `maxRetries`, `freshCheckpoint`. */
export type Changed = Readonly<Record<string, string>>

/** The same as the API takes it. What is no number stays the text that it is, for the server to say so. */
export function overridesOf(changed: Changed): ResubmissionOverrides {
  const within = (prefix: string) =>
    Object.entries(changed)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value] as const)
  const [slots, environ] = [within('slot.'), within('env.')]
  const number = (name: string): number | undefined => {
    const text = changed[name]?.trim()
    if (text === undefined) return undefined
    return text === '' || Number.isNaN(Number(text)) ? (text as unknown as number) : Number(text)
  }
  const policy = { maxRetries: number('maxRetries'), retryDelay: number('retryDelay') }
  return {
    ...(slots.length > 0 && { resourceSlots: slots.map(([slot, amount]) => ({ slot, amount })) }),
    ...(environ.length > 0 && { environ: environ.map(([name, value]) => ({ name, value })) }),
    ...((policy.maxRetries ?? policy.retryDelay) !== undefined && { retryPolicy: policy }),
    ...(changed['batchTimeout'] !== undefined && {
      batchTimeout: changed['batchTimeout'].trim() === '' ? null : number('batchTimeout'),
    }),
    ...(changed['priority'] !== undefined && { priority: number('priority') }),
    ...(changed['freshCheckpoint'] !== undefined && { freshCheckpoint: true }),
    ...(changed['resourceGroup'] !== undefined && { resourceGroup: changed['resourceGroup'].trim() }),
  }
}
