import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import { count, roughAmount, slotWords } from '../../words/numbers.ts'
import type { Column } from '../../design/table.tsx'
import { Part, Rows, Section } from './section.tsx'
import { type UiQuotaFragment, UiQuotasDocument, UiSetQuotaDocument } from './settings.generated.ts'

const QuotaForm = lazyDialog(() => import('./quota-form.tsx'), 'QuotaForm')
const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

const EVERY_MS = 5_000
const route = getRouteApi('/frame/settings/quotas')

/** The quotas of users, projects and domains, and their use. */
export function QuotasSection() {
  const { dropped } = route.useSearch()
  const refusal = noAdministration(useViewer(), 'CLUSTER')
  const read = usePolled(UiQuotasDocument, {}, EVERY_MS)
  const act = useAct()
  const [open, setOpen] = useState<{ changed: UiQuotaFragment | undefined } | null>(null)
  const [removed, setRemoved] = useState<UiQuotaFragment | null>(null)
  const remove = async ({ scope, name }: UiQuotaFragment) => {
    setRemoved(null)
    const none = { maxRunning: null, maxPending: null, maxCheckpointBytes: null, maxOutputBytes: null, slots: null }
    const input = { scope, name, ...none }
    const words = { about: `Quota of ${name}`, done: `${name} has no limits any more.` }
    if (await act(UiSetQuotaDocument, { input }, words)) read.again()
  }
  return (
    <Section
      says="The most that a user, a project or a domain can use at once. Retries beyond it are held until there is room."
      dropped={dropped}
      acts={
        <GuardedButton refusal={refusal} onClick={() => setOpen({ changed: undefined })}>
          Set a quota…
        </GuardedButton>
      }
    >
      <Part read={read}>
        {({ quotas }) => (
          <Rows
            label="Quotas"
            className="settings-quotas"
            columns={COLUMNS}
            rows={quotas}
            renderActs={(quota) => (
              <>
                <GuardedButton
                  kind="quiet"
                  refusal={refusal}
                  aria-label={`Change the quota of ${quota.name}`}
                  onClick={() => setOpen({ changed: quota })}
                >
                  Change…
                </GuardedButton>
                <GuardedButton
                  kind="quiet"
                  refusal={refusal}
                  aria-label={`Remove the quota of ${quota.name}`}
                  onClick={() => setRemoved(quota)}
                >
                  Remove…
                </GuardedButton>
              </>
            )}
            empty={
              <>
                <h2>No quotas</h2>
                <p>Only the capacity of the agents limits sessions.</p>
              </>
            }
          />
        )}
      </Part>
      <>
        {open && (
          <QuotaForm
            changed={open.changed}
            onClose={() => setOpen(null)}
            onDone={() => {
              setOpen(null)
              read.again()
            }}
          />
        )}
        {removed && (
          <Confirm
            title="Remove 1 quota?"
            act="Remove the quota"
            onAct={() => void remove(removed)}
            onClose={() => setRemoved(null)}
          >
            Nothing limits {removed.scope.toLowerCase()} {removed.name} any more. Sessions that wait for room start.
          </Confirm>
        )}
      </>
    </Section>
  )
}

const COLUMNS: readonly Column<UiQuotaFragment>[] = [
  {
    title: 'Of',
    value: ({ name }) => name,
    cell: ({ scope, name }) => (
      <>
        <span className="settings-main">{name}</span>
        <span className="settings-aside">{scope.toLowerCase()}</span>
      </>
    ),
  },
  {
    title: 'Running',
    isNamed: true,
    value: ({ usage }) => usage.running,
    isDown: true,
    cell: ({ usage, maxRunning }) => <Used used={usage.running} most={maxRunning} />,
  },
  {
    title: 'Pending',
    isNamed: true,
    value: ({ usage }) => usage.pending,
    isDown: true,
    cell: ({ usage, maxPending }) => <Used used={usage.pending} most={maxPending} />,
  },
  {
    title: 'Checkpoints',
    isNamed: true,
    value: ({ usage }) => usage.checkpointBytes,
    isDown: true,
    cell: ({ usage, maxCheckpointBytes }) => (
      <Used used={usage.checkpointBytes} most={maxCheckpointBytes} words={byteWords} />
    ),
  },
  {
    title: 'Outputs',
    isNamed: true,
    cell: ({ usage, maxOutputBytes }) => <Used used={usage.outputBytes} most={maxOutputBytes} words={byteWords} />,
  },
  {
    title: 'Slots',
    isNamed: true,
    cell: ({ slots, usage }) =>
      slots.length === 0
        ? null
        : slots.map(({ slot, amount }) => {
            const used = usage.slots.find((each) => each.slot === slot)?.amount ?? '0'
            return (
              <span key={slot} className="settings-pair">
                {slot} {slotWords(slot, used)} of {slotWords(slot, amount)}
              </span>
            )
          }),
  },
]

function byteWords(value: number): string {
  return roughAmount('mem', String(value))
}

interface UsedProps {
  used: number
  most: number | null
  words?: (value: number) => string
}

function Used({ used, most, words = count }: UsedProps) {
  if (most === null) return words(used)
  return (
    <span className={used > most ? 'settings-bad' : undefined}>
      {words(used)} of {words(most)}
    </span>
  )
}
