import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { useAct } from '../../app/act.ts'
import { DetailHead, type Fact, FactsCard, Missing } from '../../app/detail.tsx'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { IgnoredParameters, useChangeSearch } from '../../app/list/list-page.tsx'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { RANGE_NAMES, type RangeWord, spanOf } from '../../app/list/time-range.ts'
import { Ago, useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { noChange, useViewer } from '../../app/viewer.ts'
import type { Selection } from '../../bulk/use-bulk.ts'
import { causeInWords, kindOf, lookOfCause } from '../../design/causes.ts'
import { HeldIcon } from '../../design/icons.tsx'
import { Button, Choice } from '../../design/controls.tsx'
import { CauseMark, Skeleton } from '../../design/panel.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { count, counted, percentage } from '../../words/numbers.ts'
import { duration, limitInWords } from '../../words/time.ts'
import { MergedInto, SimilarGroups } from './merging.tsx'
import { type FailureGroup, Lines, Places, Sparkline, StateMark, stateWord } from './message-parts.tsx'
import { UiFailureGroupDocument, UiSetBreakerDocument, UiSplitFailureDocument } from './messages.generated.ts'
import '../../design/table.css'
import './messages.css'

const route = getRouteApi('/frame/failures/$failureGroupId')

const EVERY_MS = 5_000

/** A group of failures: what they say, what people know about it, how many there are, and where. */
export function FailurePage() {
  const { failureGroupId } = route.useParams()
  const { range = '31d', dropped } = route.useSearch()
  const moments = useMoments()
  const { data, error, again } = usePolled(
    UiFailureGroupDocument,
    (now: number) => ({ id: failureGroupId, from: spanOf(range, now, moments.offsetMinutes(now)).from }),
    EVERY_MS,
  )
  // Another span is read while the numbers before stay.
  const [before, setBefore] = useState(data)
  if (data !== undefined && data !== before) setBefore(data)
  const shown = data ?? (before?.failureGroup?.failureGroupId === failureGroupId ? before : undefined)
  const group = shown?.failureGroup
  useTitle(group ? `${stateWord(group)} · ${group.title}` : 'Failures')
  if (!group && error) return <ProblemPanel error={error} onAgain={again} />
  if (!shown) return <Skeleton />
  if (!group) return <Missing noun="group of failures" list="/failures" />
  return (
    <div className="detail-page">
      <Head group={group} again={again} />
      <IgnoredParameters names={dropped} />
      <Outdated error={error} />
      <MergedInto group={group} again={again} />
      <Figures group={group} range={range} />
      <Lines group={group} />
      <div className="detail-columns">
        <Places group={group} />
        <Facts group={group} />
      </div>
      <TableCard
        title="Newest attempts"
        none={`None in the ${RANGE_NAMES[range]}.`}
        label="Newest attempts"
        rowClass="example-row"
        columns={EXAMPLE_COLUMNS}
        rows={group.examples}
      />
      <SimilarGroups group={group} again={again} />
      <Merged group={group} again={again} />
    </div>
  )
}

const StateForm = lazyDialog(() => import('./failure-forms.tsx'), 'StateForm')
const NameForm = lazyDialog(() => import('./failure-forms.tsx'), 'NameForm')
const MergeForm = lazyDialog(() => import('./failure-forms.tsx'), 'MergeForm')
const RuleForm = lazyDialog(() => import('./rule-form.tsx'), 'RuleForm')
const BulkDialog = lazyDialog(() => import('../../bulk/bulk-dialog.tsx'), 'BulkDialog')

function Head({ group, again }: { group: FailureGroup; again: () => void }) {
  const { failureGroupId, title, note, link } = group
  const viewer = useViewer()
  const [asked, setAsked] = useState<'STATE' | 'NAME' | 'MERGE' | 'RULE' | Selection | null>(null)
  const close = () => setAsked(null)
  const done = () => {
    close()
    again()
  }
  const refusal = noChange(viewer)
  const whyNoResubmit = viewer.can.resubmit ? null : `Your token has the role ${viewer.role}, which may not do this.`
  return (
    <DetailHead
      list="/failures"
      name={title}
      mark={<StateMark group={group} />}
      acts={
        <>
          <Link to="/sessions" search={{ failure: failureGroupId }} className="button">
            All attempts
          </Link>
          <GuardedButton refusal={refusal} onClick={() => setAsked('NAME')}>
            Rename…
          </GuardedButton>
          <GuardedButton refusal={refusal} onClick={() => setAsked('MERGE')}>
            Merge…
          </GuardedButton>
          <BreakerButton group={group} refusal={refusal} again={again} />
          {(group.cause !== null || group.exitCode !== null) && <Button onClick={() => setAsked('RULE')}>Rule…</Button>}
          <GuardedButton refusal={whyNoResubmit} onClick={() => setAsked(resubmissionOf(failureGroupId))}>
            Resubmit all…
          </GuardedButton>
          <GuardedButton kind="primary" refusal={refusal} onClick={() => setAsked('STATE')}>
            State…
          </GuardedButton>
        </>
      }
    >
      {group.breaker !== null && <BreakerNote breaker={group.breaker} />}
      {(note !== null || link !== null) && (
        <p className="page-note">
          {note}
          {note !== null && link !== null && ' · '}
          {link !== null && (
            <a href={link} rel="noreferrer" className="text-link">
              {link}
            </a>
          )}
        </p>
      )}
      <>
        {asked === 'STATE' && <StateForm group={group} onDone={done} onClose={close} />}
        {asked === 'NAME' && <NameForm group={group} onDone={done} onClose={close} />}
        {asked === 'MERGE' && <MergeForm group={group} onClose={close} />}
        {asked === 'RULE' && <RuleForm group={group} onClose={close} />}
        {asked !== null && typeof asked === 'object' && (
          <BulkDialog action="RESUBMIT" selection={asked} onClose={close} onDone={again} />
        )}
      </>
    </DetailHead>
  )
}

interface BreakerButtonProps {
  group: FailureGroup
  refusal: string | null
  again: () => void
}

/** Holds the retries of the group, or releases them. */
function BreakerButton({ group: { failureGroupId, title, breaker }, refusal, again }: BreakerButtonProps) {
  const act = useAct()
  const [isBusy, setBusy] = useState(false)
  const open = breaker === null
  const send = async () => {
    setBusy(true)
    const done = open ? 'Its retries are held, but for single probes.' : 'Its retries are released, gradually.'
    await act(UiSetBreakerDocument, { failureGroupId, open }, { about: title, done })
    setBusy(false)
    again()
  }
  return (
    <GuardedButton refusal={refusal} disabled={isBusy} onClick={() => void send()}>
      {open ? 'Hold retries' : 'Release retries'}
    </GuardedButton>
  )
}

function BreakerNote({ breaker }: { breaker: NonNullable<FailureGroup['breaker']> }) {
  const { openedAt, openedBy, failures, chains, held, probes, nextProbeAt } = breaker
  const moments = useMoments()
  return (
    <p className="page-note">
      <HeldIcon className="tone-held" /> Retries are held since <Ago at={openedAt} />
      {openedBy === null ? `, after ${failures} failures in ${counted(chains, 'chain')}` : `, by ${openedBy}`}:{' '}
      {counted(held, 'retry', 'retries')} now. Probes so far: {probes}; the next at{' '}
      <time dateTime={nextProbeAt}>{moments.minute(Date.parse(nextProbeAt))}</time>. One that succeeds releases them.
    </p>
  )
}

/** Its attempts that no automatic retry followed. */
function resubmissionOf(failureGroup: string): Selection {
  return { filter: { failureGroup, NOT: { retryPhase: ['DISPATCHED'] } } }
}

function Figures({ group, range }: { group: FailureGroup; range: RangeWord }) {
  const change = useChangeSearch<'failure'>()
  const { attempts, chains, succeededLater, cpuSecondsLost, runningSecondsLost, firstSeenAt, lastSeenAt } = group
  const figures: readonly (readonly [name: string, value: string])[] = [
    [attempts === 1 ? 'attempt' : 'attempts', count(attempts)],
    [chains === 1 ? 'chain' : 'chains', count(chains)],
    ['succeeded later', succeededLater === null ? '–' : percentage(succeededLater, 1)],
    ['running time lost', runningSecondsLost === 0 ? '–' : duration(runningSecondsLost)],
    ['CPU time lost', cpuSecondsLost === 0 ? '–' : duration(cpuSecondsLost)],
  ]
  return (
    <section className="card failure-numbers" aria-label="Numbers">
      <div className="failure-numbers-head">
        <h2>Numbers</h2>
        <span className="failure-seen">
          {firstSeenAt !== null && lastSeenAt !== null && (
            <>
              first <Ago at={firstSeenAt} />, last <Ago at={lastSeenAt} />
            </>
          )}
        </span>
        <Choice
          label="Time"
          value={range}
          names={RANGE_NAMES}
          onChange={(chosen) => change({ range: chosen === '31d' ? undefined : chosen })}
        />
      </div>
      <dl className="failure-figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Sparkline parts={group.sparkline} label={`Attempts in the ${RANGE_NAMES[range]}`} />
    </section>
  )
}

function Facts({ group }: { group: FailureGroup }) {
  const { project, cause, exitCode, createdAt, lastAt, stateBy, stateAt, mutedUntil, regressedAt, failureGroupId } =
    group
  const moments = useMoments()
  const facts: Fact[] = [
    fact('project', project.name),
    fact(
      'cause',
      <span className="with-mark">
        <CauseMark {...lookOfCause(cause, exitCode)} />
        {causeInWords(cause, exitCode)}
      </span>,
    ),
    fact('first time', <Ago at={createdAt} />),
    fact('last time', <Ago at={lastAt} />),
  ]
  if (stateAt !== null) {
    const by = stateBy !== null && ` by ${stateBy}`
    facts.push(
      fact(
        'state set',
        <>
          <Ago at={stateAt} />
          {by}
        </>,
      ),
    )
  }
  if (mutedUntil !== null) {
    facts.push(fact('muted until', <time dateTime={mutedUntil}>{moments.absolute(Date.parse(mutedUntil))}</time>))
  }
  if (regressedAt !== null) facts.push(fact('came back', <Ago at={regressedAt} />))
  facts.push(fact('id', <code>{failureGroupId}</code>))
  return <FactsCard title="About it" facts={facts} />
}

function fact(name: string, value: ReactNode): Fact {
  return [name, value]
}

type Example = FailureGroup['examples'][number]

const EXAMPLE_COLUMNS: readonly Column<Example>[] = [
  {
    title: 'Attempt',
    className: 'named',
    cell: (session) => (
      <>
        <AttemptLink session={session} />
        <span className="table-tag">attempt {session.attempt}</span>
      </>
    ),
  },
  {
    title: 'Why',
    className: 'example-why',
    hint: ({ statusReason }) => statusReason,
    cell: (session) => (
      <span className="with-mark">
        <CauseMark {...lookOfCause(kindOf(session), session.exitCode)} />
        {causeInWords(kindOf(session), session.exitCode, limitInWords(session.batchTimeout))}
      </span>
    ),
  },
  {
    title: 'Agent',
    className: 'example-agent',
    cell: ({ kernels }) => kernels.find(({ agent }) => agent !== null)?.agent?.name ?? '–',
  },
  {
    title: 'Ended',
    className: 'example-ended',
    cell: ({ terminatedAt }) => terminatedAt !== null && <Ago at={terminatedAt} />,
  },
]

type MergedGroup = FailureGroup['merged'][number]

/** The groups whose failures this one shows, too. */
function Merged({ group: { merged }, again }: { group: FailureGroup; again: () => void }) {
  const act = useAct()
  const refusal = noChange(useViewer())
  const [busy, setBusy] = useState<string | null>(null)
  if (merged.length === 0) return null
  const split = async ({ failureGroupId, title }: MergedGroup) => {
    setBusy(failureGroupId)
    await act(UiSplitFailureDocument, { failureGroupId }, { about: title, done: `${title} is apart again.` })
    setBusy(null)
    again()
  }
  return (
    <TableCard
      title="Merged into it"
      count={count(merged.length)}
      none=""
      label="Merged into it"
      rowClass="merged-row"
      columns={mergedColumns(refusal, busy, (other) => void split(other))}
      rows={merged.map((other) => ({ ...other, id: other.failureGroupId }))}
    />
  )
}

/** @param busy the id of the group that is being split off */
function mergedColumns(
  refusal: string | null,
  busy: string | null,
  onSplit: (other: MergedGroup) => void,
): readonly Column<MergedGroup>[] {
  return [
    {
      title: 'Message',
      className: 'message-what',
      cell: ({ title }) => (
        <code className="cut" title={title}>
          {title}
        </code>
      ),
    },
    { title: 'First time', className: 'merged-at', cell: ({ createdAt }) => <Ago at={createdAt} said="first" /> },
    { title: 'Last time', className: 'merged-at', cell: ({ lastAt }) => <Ago at={lastAt} said="last" /> },
    {
      title: 'Action',
      isHidden: true,
      cell: (other) => (
        <GuardedButton
          kind="quiet"
          refusal={refusal}
          aria-label={`Split ${other.title}`}
          disabled={busy === other.failureGroupId}
          onClick={() => onSplit(other)}
        >
          Split
        </GuardedButton>
      ),
    },
  ]
}
