import { useEffect, useEffectEvent, useState } from 'react'
import type { ResubmissionOverrides } from '../../client/schema-types.generated.ts'
import { placeFaults, type Problem } from '../api/problem.ts'
import { LinesField, TextField } from '../design/controls.tsx'

/** The typed changes of a resubmission, by field: `slot.cpu`, `env.LR`, `maxRetries`, `freshCheckpoint`. */
type Changed = Readonly<Record<string, string>>

/**
 * Converts the changes to the API's input. A text that is not a number is sent unchanged, so that the server reports
 * it.
 */
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
  /** An empty text removes the condition. */
  const condition = (name: string) => (changed[name] === undefined ? undefined : changed[name].trim() || null)
  const gpus = { model: condition('gpuModel'), memory: condition('gpuMemory') }
  const policy = { maxRetries: number('maxRetries'), retryDelay: number('retryDelay') }
  return {
    ...(slots.length > 0 && { resourceSlots: slots.map(([slot, amount]) => ({ slot, amount })) }),
    ...(environ.length > 0 && { environ: environ.map(([name, value]) => ({ name, value })) }),
    ...((gpus.model !== undefined || gpus.memory !== undefined) && { gpus }),
    ...((policy.maxRetries ?? policy.retryDelay) !== undefined && { retryPolicy: policy }),
    ...(changed['batchTimeout'] !== undefined && {
      batchTimeout: changed['batchTimeout'].trim() === '' ? null : number('batchTimeout'),
    }),
    ...(changed['priority'] !== undefined && { priority: number('priority') }),
    ...(changed['freshCheckpoint'] !== undefined && { freshCheckpoint: true }),
    ...(changed['resourceGroup'] !== undefined && { resourceGroup: changed['resourceGroup'].trim() }),
  }
}

const SETTLED_MS = 400

/** The changes to apply to all sessions. A dry run follows when typing pauses. */
export function useChanges(tryWith: (overrides: ResubmissionOverrides) => Promise<void>) {
  const [draft, setDraft] = useState<Changed>({})
  const { changed, faults } = readOverrides(draft)
  const overrides = overridesOf(changed)
  const key = JSON.stringify({ overrides, faults })
  const [tried, setTried] = useState(key)
  const isReadable = Object.keys(faults).length === 0
  const attempt = useEffectEvent(async () => {
    await tryWith(overrides)
    setTried(key)
  })
  useEffect(() => {
    if (key === tried || !isReadable) return undefined
    const timer = setTimeout(() => void attempt(), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [key, tried, isReadable])
  return {
    draft,
    faults,
    overrides,
    isAny: Object.keys(changed).length > 0,
    isTried: key === tried && isReadable,
    change: (name: string, text: string) => setDraft((last) => ({ ...last, [name]: text })),
  }
}

interface UseChangesProps {
  changes: ReturnType<typeof useChanges>
  /** The server's faults. */
  problem: Problem | null
}

export function Changes({ changes: { draft, faults, change }, problem }: UseChangesProps) {
  const placed = problem && placeFaults(problem, Object.keys(OVERRIDE_PLACES), CODES)
  const said: Record<string, string> = {}
  for (const [path, words] of Object.entries(placed?.fields ?? {})) said[OVERRIDE_PLACES[path]!] = words
  return (
    <details className="bulk-changes" open={problem !== null || undefined}>
      <summary>Change something for all of them</summary>
      <OverrideFields draft={draft} faults={{ ...said, ...faults }} onChange={change} />
      {placed?.rest != null && (
        <p className="field-note" role="alert">
          {placed.rest}
        </p>
      )}
    </details>
  )
}

/** The field of an error that names no place, by its code. */
const CODES = { RESOURCE_GROUP_NOT_FOUND: 'overrides.resourceGroup' }

interface OverrideFieldsProps {
  /** The typed texts; an empty one leaves each session's value. */
  draft: Changed
  faults: Readonly<Record<string, string>>
  onChange: (name: string, text: string) => void
}

/** The form's field for each place of the input, for the server's faults. */
const OVERRIDE_PLACES: Readonly<Record<string, string>> = {
  'overrides.resourceSlots': 'slots',
  'overrides.environ': 'environ',
  'overrides.gpus.model': 'gpuModel',
  'overrides.gpus.memory': 'gpuMemory',
  'overrides.retryPolicy.maxRetries': 'maxRetries',
  'overrides.retryPolicy.retryDelay': 'retryDelay',
  'overrides.batchTimeout': 'batchTimeout',
  'overrides.priority': 'priority',
  'overrides.resourceGroup': 'resourceGroup',
}

const LINES: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['slots', 'resources', 'like cpu=2, mem=8g; 0 removes one'],
  ['environ', 'environment', 'name=value, one a line'],
]
const FIELDS: readonly (readonly [name: string, label: string])[] = [
  ['gpuModel', 'GPU model'],
  ['gpuMemory', 'memory of each GPU, like 40g'],
  ['maxRetries', 'retries'],
  ['retryDelay', 'first delay, seconds'],
  ['batchTimeout', 'timeout, seconds'],
  ['priority', 'priority'],
  ['resourceGroup', 'resource group'],
]

/** Those that are no numbers. */
const TEXTS = ['gpuModel', 'gpuMemory', 'resourceGroup']

/** The fields that a resubmission of many can change. */
function OverrideFields({ draft, faults, onChange }: OverrideFieldsProps) {
  const shared = (name: string) => ({
    fault: faults[name],
    value: draft[name] ?? '',
    placeholder: 'as each has it',
    onType: (text: string) => onChange(name, text),
  })
  return (
    <div className="fields">
      {LINES.map(([name, label, hint]) => (
        <LinesField key={name} {...shared(name)} label={label} hint={hint} wide rows={name === 'slots' ? 1 : 2} />
      ))}
      {FIELDS.map(([name, label]) => (
        <TextField key={name} {...shared(name)} label={label} type="text" />
      ))}
      <FreshCheckpoint
        isFresh={(draft['freshCheckpoint'] ?? '') !== ''}
        onChange={(isFresh) => onChange('freshCheckpoint', isFresh ? 'true' : '')}
      />
    </div>
  )
}

/** Parses the typed values; collects the faults of those that are not valid. */
function readOverrides(draft: Changed): { changed: Changed; faults: Record<string, string> } {
  const changed: Record<string, string> = {}
  const faults: Record<string, string> = {}
  const pairs = (name: string, prefix: string, separator: RegExp) => {
    for (const pair of (draft[name] ?? '').split(separator)) {
      const at = pair.indexOf('=')
      if (pair.trim() === '') continue
      if (at <= 0) faults[name] ??= `${pair.trim()} is not name=value.`
      else changed[`${prefix}.${pair.slice(0, at).trim()}`] = pair.slice(at + 1)
    }
  }
  pairs('slots', 'slot', /[\n,]/)
  pairs('environ', 'env', /\n/)
  for (const [name] of FIELDS) {
    const text = draft[name]?.trim() ?? ''
    if (text === '') continue
    changed[name] = text
    if (!TEXTS.includes(name) && Number.isNaN(Number(text))) faults[name] = 'It is not a number.'
  }
  if (draft['freshCheckpoint']) changed['freshCheckpoint'] = 'true'
  return { changed, faults }
}

interface FreshCheckpointProps {
  isFresh: boolean
  onChange: (isFresh: boolean) => void
}

/** The switch for starting without the checkpoint of earlier attempts. */
export function FreshCheckpoint({ isFresh, onChange }: FreshCheckpointProps) {
  return (
    <label className="field-switch">
      <input type="checkbox" checked={isFresh} onChange={({ target }) => onChange(target.checked)} />
      <span>From the beginning: without the checkpoint of earlier attempts</span>
    </label>
  )
}
