import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { scopeWords } from '../../app/retry/scope-fields.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import { draftOfPolicy, type SetPolicy } from '../../policy/policy-draft.ts'
import { POLICY_FIELDS } from '../../policy/policy-fields.ts'
import type { Column } from '../../design/table.tsx'
import { Part, Rows, Section } from './section.tsx'
import { type UiDefaultFragment, UiDefaultsDocument, UiSetDefaultsDocument } from './settings.generated.ts'

const DefaultsForm = lazyDialog(() => import('./defaults-form.tsx'), 'DefaultsForm')
const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

const EVERY_MS = 5_000
const route = getRouteApi('/frame/settings/defaults')

/** The defaults of new sessions for fields that their policy leaves out. */
export function DefaultsSection() {
  const { dropped } = route.useSearch()
  const viewer = useViewer()
  const read = usePolled(UiDefaultsDocument, {}, EVERY_MS)
  const act = useAct()
  const [open, setOpen] = useState<{ changed: UiDefaultFragment | undefined } | null>(null)
  const [cleared, setCleared] = useState<UiDefaultFragment | null>(null)
  const clear = async ({ scope, name }: UiDefaultFragment) => {
    setCleared(null)
    const where = scopeWords(scope, name)
    const words = { about: `Defaults ${where}`, done: `No defaults are set ${where} any more.` }
    if (await act(UiSetDefaultsDocument, { input: { scope, name, policy: null } }, words)) read.again()
  }
  return (
    <Section
      says="The retry policy of new sessions, for fields that they do not set. Narrower scopes win, field by field; existing sessions keep their policy."
      dropped={dropped}
      acts={
        <GuardedButton refusal={noAdministration(viewer, 'PROJECT')} onClick={() => setOpen({ changed: undefined })}>
          Set defaults…
        </GuardedButton>
      }
    >
      <Part read={read}>
        {({ retryDefaults }) => (
          <Rows
            label="Retry defaults"
            className="settings-defaults"
            columns={COLUMNS}
            rows={retryDefaults}
            renderActs={(each) => {
              const refusal = noAdministration(viewer, each.scope)
              const where = scopeWords(each.scope, each.name)
              return (
                <>
                  <GuardedButton
                    kind="quiet"
                    refusal={refusal}
                    aria-label={`Change the defaults ${where}`}
                    onClick={() => setOpen({ changed: each })}
                  >
                    Change…
                  </GuardedButton>
                  <GuardedButton
                    kind="quiet"
                    refusal={refusal}
                    aria-label={`Clear the defaults ${where}`}
                    onClick={() => setCleared(each)}
                  >
                    Clear…
                  </GuardedButton>
                </>
              )
            }}
            empty={
              <>
                <h2>No defaults are set</h2>
                <p>A session without a policy of its own is not retried.</p>
              </>
            }
          />
        )}
      </Part>
      <>
        {open && (
          <DefaultsForm
            changed={open.changed}
            onClose={() => setOpen(null)}
            onDone={() => {
              setOpen(null)
              read.again()
            }}
          />
        )}
        {cleared && (
          <Confirm
            title="Clear 1 set of defaults?"
            act="Clear"
            onAct={() => void clear(cleared)}
            onClose={() => setCleared(null)}
          >
            New sessions {scopeWords(cleared.scope, cleared.name)} get the defaults of wider scopes. Existing sessions
            keep their policy.
          </Confirm>
        )}
      </>
    </Section>
  )
}

const COLUMNS: readonly Column<UiDefaultFragment>[] = [
  { title: 'Where', cell: ({ scope, name }) => <span className="settings-main">{scopeWords(scope, name)}</span> },
  {
    title: 'Policy',
    cell: ({ policy }) =>
      policy &&
      wordsOf(policy).map((words) => (
        <span key={words} className="settings-pair">
          {words}
        </span>
      )),
  },
]

/** `retries 3`, `first delay 90s` */
function wordsOf(policy: SetPolicy): string[] {
  const draft = draftOfPolicy(policy)
  return policy.given.map((path) => {
    const field = POLICY_FIELDS.find((each) => each.path === path)
    const text = field && draft[field.name]
    if (!field || text === undefined) return `${path} ${String(policy[path])}`
    if (field.kind === 'switch') return field.label.toLowerCase()
    if (field.kind === 'rules') return `${(policy[path] as unknown[]).length} rules`
    if (field.kind === 'causes')
      return `retried: ${text
        .split(',')
        .map((cause) => field.choices![cause] ?? cause)
        .join(', ')}`
    return `${field.label.toLowerCase()} ${field.choices?.[text] ?? text}`
  })
}
