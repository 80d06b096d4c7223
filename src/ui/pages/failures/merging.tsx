import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { noChange, useViewer } from '../../app/viewer.ts'
import { type Column, TableCard } from '../../design/table.tsx'
import { count, percentage } from '../../words/numbers.ts'
import type { FailureGroup } from './message-parts.tsx'
import { UiMergeFailuresDocument, UiSplitFailureDocument } from './messages.generated.ts'

interface Props {
  group: FailureGroup
  again: () => void
}

/** Leads from a merged group to the one that shows its failures. */
export function MergedInto({ group: { failureGroupId, title, mergedInto }, again }: Props) {
  const act = useAct()
  const refusal = noChange(useViewer())
  const [isBusy, setBusy] = useState(false)
  if (mergedInto === null) return null
  const split = async () => {
    setBusy(true)
    await act(UiSplitFailureDocument, { failureGroupId }, { about: title, done: `${title} is apart again.` })
    setBusy(false)
    again()
  }
  return (
    <p className="notice merged-into" role="status">
      <span>
        Its failures are shown with{' '}
        <Link
          to="/failures/$failureGroupId"
          params={{ failureGroupId: mergedInto.failureGroupId }}
          className="text-link"
        >
          {mergedInto.title}
        </Link>
        , into which it was merged.
      </span>
      <GuardedButton refusal={refusal} disabled={isBusy} onClick={() => void split()}>
        Split
      </GuardedButton>
    </p>
  )
}

type Similar = FailureGroup['similar'][number]

/** Groups that look alike. One click merges one into this group, which then lists it with a button to split it off. */
export function SimilarGroups({ group: { failureGroupId: into, similar }, again }: Props) {
  const act = useAct()
  const refusal = noChange(useViewer())
  const [busy, setBusy] = useState<string | null>(null)
  if (similar.length === 0) return null
  const merge = async ({ failureGroupId, title }: Similar['failureGroup']) => {
    setBusy(failureGroupId)
    const input = { failureGroupIds: [failureGroupId], into }
    await act(UiMergeFailuresDocument, input, { about: title, done: `${title} is merged into this group.` })
    setBusy(null)
    again()
  }
  return (
    <TableCard
      title="Looks like this"
      none=""
      label="Looks like this"
      rowClass="merged-row"
      columns={similarColumns(refusal, busy, (other) => void merge(other))}
      rows={similar.map((each) => ({ ...each, id: each.failureGroup.failureGroupId }))}
    />
  )
}

/** @param busy the id of the group that is being merged */
function similarColumns(
  refusal: string | null,
  busy: string | null,
  onMerge: (other: Similar['failureGroup']) => void,
): readonly Column<Similar & { id: string }>[] {
  return [
    {
      title: 'Message',
      className: 'message-what',
      cell: ({ failureGroup: { failureGroupId, title } }) => (
        <Link to="/failures/$failureGroupId" params={{ failureGroupId }} className="table-link" title={title}>
          <code className="cut">{title}</code>
        </Link>
      ),
    },
    {
      title: 'Attempts',
      className: 'merged-at',
      cell: ({ failureGroup }) => `${count(failureGroup.attempts)} attempts`,
    },
    { title: 'Same words', className: 'merged-at', cell: ({ similarity }) => `${percentage(similarity, 1)} the same` },
    {
      title: 'Action',
      isHidden: true,
      cell: ({ failureGroup }) => (
        <GuardedButton
          kind="quiet"
          refusal={refusal}
          aria-label={`Merge ${failureGroup.title} into this group`}
          disabled={busy === failureGroup.failureGroupId}
          onClick={() => onMerge(failureGroup)}
        >
          Merge
        </GuardedButton>
      ),
    },
  ]
}
