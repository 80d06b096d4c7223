import { useEffect, useEffectEvent, useState } from 'react'
import type { ResubmissionOverrides } from '../../client/schema-types.generated.ts'
import type { Problem } from '../api/problem.ts'
import { placeFaults } from '../app/form/faults.ts'
import { OVERRIDE_PLACES, OverrideFields, readOverrides } from './override-fields.tsx'
import { overridesOf, type Changed } from './overrides.ts'

const SETTLED_MS = 400

/** What is to be changed for all of them, tried anew once nobody types. */
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

interface Props {
  changes: ReturnType<typeof useChanges>
  /** What the server says about them. */
  problem: Problem | null
}

export function Changes({ changes: { draft, faults, change }, problem }: Props) {
  const placed = problem && placeFaults(problem, Object.keys(OVERRIDE_PLACES), CODES)
  const said: Record<string, string> = {}
  for (const [path, words] of Object.entries(placed?.fields ?? {})) said[OVERRIDE_PLACES[path]!] = words
  return (
    <details className="bulk-changes">
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

/** What an error without a place is about. */
const CODES = { RESOURCE_GROUP_NOT_FOUND: 'overrides.resourceGroup' }
