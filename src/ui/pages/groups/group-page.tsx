import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { serverNow, useServerNow } from '../../api/clock.ts'
import { usePolled } from '../../api/poll.ts'
import { useAct } from '../../app/act.ts'
import { wordOfCause } from '../../app/causes.ts'
import { DetailHead, type Fact, FactsCard, Missing } from '../../app/detail.tsx'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { Ago, useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { useViewer } from '../../app/viewer.ts'
import type { Selection } from '../../bulk/use-bulk.ts'
import { causeInWords, kindOf, lookOfCause, TIMED_OUT } from '../../design/causes.ts'
import { CauseMark, Skeleton } from '../../design/panel.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { count, counted, percentage } from '../../words/numbers.ts'
import { duration, limitInWords, relativeMoment } from '../../words/time.ts'
import { endedOf, GroupBar, GroupMark, StateFigures, stateWords } from './group-parts.tsx'
import {
  UiCancelGroupDocument,
  UiGroupDocument,
  UiGroupMemberDocument,
  UiGroupMembersDocument,
  type UiGroupMembersQuery,
  type UiGroupQuery,
} from './groups.generated.ts'
import { CELLS_MAX, Members, rangeSize } from './member-grid.tsx'
import '../../design/table.css'
import './groups.css'

const route = getRouteApi('/frame/groups/$groupId')

type Group = NonNullable<UiGroupQuery['sessionGroup']>

const EVERY_MS = 2_000
/** Counting failures and ranges takes longer the more members there are. */
const MEMBERS_EVERY_MS = 4_000
const MANY_MEMBERS = 20_000
const MANY_EVERY_MS = 15_000
const FAILED_SHOWN = 10

/** One group: the states of its members, its failures and its limits. */
export function GroupPage() {
  const { groupId } = route.useParams()
  const { from, dropped: _ } = route.useSearch()
  const { data, error, again } = usePolled(
    UiGroupDocument,
    { id: groupId, first: CELLS_MAX, after: from === undefined ? -1 : from - 1 },
    EVERY_MS,
  )
  // The members of another range are read while those before stay.
  const [before, setBefore] = useState(data)
  if (data !== undefined && data !== before) setBefore(data)
  const shown = data ?? (before?.sessionGroup?.groupId === groupId ? before : undefined)
  const group = shown?.sessionGroup
  useTitle(group ? `${stateWords(group)} · ${group.name}` : 'Group')
  if (!group && error) return <ProblemPanel error={error} onAgain={again} />
  if (!shown) return <Skeleton />
  if (!group) return <Missing noun="group" list="/groups" />
  return <GroupDetails group={group} from={from} error={error} again={again} />
}

interface DetailsProps {
  group: Group
  from: number | undefined
  error: Error | undefined
  again: () => void
}

function GroupDetails({ group, from, error, again }: DetailsProps) {
  const { groupId, counts } = group
  const members = usePolled(
    UiGroupMembersDocument,
    { id: groupId, failed: FAILED_SHOWN, size: rangeSize(counts.total), isCut: counts.total > CELLS_MAX },
    counts.total > MANY_MEMBERS ? MANY_EVERY_MS : MEMBERS_EVERY_MS,
  )
  const readAgain = () => {
    again()
    members.again()
  }
  return (
    <div className="detail-page">
      <Outdated error={error ?? members.error} />
      <Head group={group} again={readAgain} />
      <Progress group={group} />
      <Members group={group} from={from} ranges={members.data?.sessionGroup?.memberRanges ?? null} />
      <div className="detail-columns">
        <Failures group={group} failures={members.data?.sessionGroup?.failures} />
        <Facts group={group} />
      </div>
      <FailedMembers
        group={group}
        chains={members.data?.chains.edges.map(({ node }) => node)}
        error={members.data === undefined ? members.error : undefined}
        again={members.again}
      />
    </div>
  )
}

const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')
const BulkDialog = lazyDialog(() => import('../../bulk/bulk-dialog.tsx'), 'BulkDialog')

function Head({ group, again }: { group: Group; again: () => void }) {
  const { groupId, name, key, reason, endedAt, outcome, counts, epoch } = group
  const { can, role } = useViewer()
  const act = useAct()
  const [isBusy, setBusy] = useState(false)
  const [asked, setAsked] = useState<'CANCEL' | Selection | null>(null)
  const going = counts.total - endedOf(counts)
  const cancel = async () => {
    setBusy(true)
    await act(UiCancelGroupDocument, { groupId, reason: null }, { about: name, done: `${name} is being cancelled.` })
    setBusy(false)
    setAsked(null)
    again()
  }
  const forbidden = `Your token has the role ${role}, which may not do this.`
  const whyNoCancel = can.terminate
    ? endedAt !== null
      ? 'It has ended.'
      : outcome === 'CANCELLED'
        ? 'It is being cancelled.'
        : null
    : forbidden
  const whyNoResubmit = can.resubmit ? (counts.failed === 0 ? 'No member has failed.' : null) : forbidden
  return (
    <DetailHead
      list="/groups"
      name={name}
      mark={<GroupMark group={group} />}
      acts={
        <>
          <Link to="/chains" search={{ group: groupId }} className="button">
            All chains
          </Link>
          <GuardedButton
            refusal={whyNoResubmit}
            onClick={() => setAsked({ chainFilter: { group: groupId, state: ['FAILED'] } })}
          >
            Resubmit failed…
          </GuardedButton>
          <GuardedButton refusal={whyNoCancel} onClick={() => setAsked('CANCEL')}>
            Cancel…
          </GuardedButton>
        </>
      }
    >
      {(key !== null && key !== name) || reason !== null || epoch > 0 ? (
        <p className="page-note">
          {[
            ...(key !== null && key !== name ? [`key ${key}`] : []),
            ...(reason === null ? [] : [reason]),
            ...(epoch > 0 ? [`reopened ${epoch === 1 ? 'once' : counted(epoch, 'time')}`] : []),
          ].join(' · ')}
        </p>
      ) : null}
      <>
        {asked === 'CANCEL' && (
          <Confirm
            title={`Cancel ${name}?`}
            act="Cancel it"
            count={going}
            isBusy={isBusy}
            onAct={() => void cancel()}
            onClose={() => setAsked(null)}
          >
            {going === 0
              ? 'It takes no more members, and ends as cancelled.'
              : `${counted(going, 'member')} that ${going === 1 ? 'has' : 'have'} not ended ${going === 1 ? 'is' : 'are'} ended: running programs are stopped, and no retry follows.`}
          </Confirm>
        )}
        {asked !== null && asked !== 'CANCEL' && (
          <BulkDialog action="RESUBMIT" selection={asked} onClose={() => setAsked(null)} onDone={again} />
        )}
      </>
    </DetailHead>
  )
}

function Progress({ group }: { group: Group }) {
  const { groupId, counts, startedAt, endedAt, expectedEndAt, state } = group
  const ended = endedOf(counts)
  return (
    <section className="card members-card" aria-label="Progress">
      <div className="members-share">
        <p className="members-percent">{percentage(ended, counts.total)}</p>
        <p className="members-of">
          {count(ended)} of {counted(counts.total, 'member')} ended
          {state === 'OPEN' && ', more may be added'}
        </p>
        <p className="members-times">
          {endedAt !== null ? (
            <>
              ended <Ago at={endedAt} />
              {startedAt !== null && `, after ${duration((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}`}
            </>
          ) : expectedEndAt !== null ? (
            <ExpectedEnd at={expectedEndAt} />
          ) : startedAt !== null ? (
            <>
              started <Ago at={startedAt} />
            </>
          ) : (
            'not started yet'
          )}
        </p>
      </div>
      <GroupBar counts={counts} label="Ended members" />
      <StateFigures groupId={groupId} counts={counts} />
    </section>
  )
}

const DAY_MS = 86_400_000

/** `ends at about 14:20, in 12 m`, if the rate of ended members stays. */
function ExpectedEnd({ at }: { at: string }) {
  const then = Date.parse(at)
  const now = useServerNow(then - serverNow() < DAY_MS)
  const moments = useMoments()
  const day = then - now < DAY_MS / 2 ? '' : `${moments.day(then)}, `
  return (
    <time dateTime={at} title={`${moments.absolute(then)}, if its members go on ending at the rate so far`}>
      ends at about {day}
      {moments.minute(then)}
      {then > now && `, ${relativeMoment(then, now)}`}
    </time>
  )
}

interface FailuresProps {
  group: Group
  failures: NonNullable<UiGroupMembersQuery['sessionGroup']>['failures'] | undefined
}

/** The failed members by cause. */
function Failures({ group: { groupId, counts }, failures }: FailuresProps) {
  const most = Math.max(1, ...(failures ?? []).map((each) => each.count))
  return (
    <section className="card" aria-label="Failures by cause">
      <h2>
        Failures by cause <span className="card-count">{counts.failed > 0 && count(counts.failed)}</span>
      </h2>
      {failures === undefined ? (
        <p className="card-none">…</p>
      ) : failures.length === 0 ? (
        <p className="card-none">No member has failed for good.</p>
      ) : (
        <ul className="member-causes">
          {failures.map(({ cause, timedOut, count: many }) => {
            const kind = timedOut ? TIMED_OUT : cause
            const look = lookOfCause(kind)
            return (
              <li key={`${cause} ${timedOut}`}>
                <Link
                  to="/chains"
                  search={{ group: groupId, state: 'failed', ...(kind !== null && { cause: wordOfCause(kind) }) }}
                >
                  <CauseMark {...look} />
                  <span>{look.words}</span>
                  <span className={`member-cause-bar tint-${look.tone}`} aria-hidden="true">
                    <span style={{ width: `${(many / most) * 100}%` }} />
                  </span>
                  <b>{count(many)}</b>
                </Link>
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}

function Facts({ group }: { group: Group }) {
  const { project, maxFailed, maxFailedPercent, minSucceeded, maxRunning, onFailure, createdAt, createdBy } = group
  const failsWith = [
    ...(maxFailed === null ? [] : [`${Math.max(1, maxFailed)} failed`]),
    ...(maxFailedPercent === null ? [] : [`${maxFailedPercent}\u00a0% failed`]),
  ]
  const facts: Fact[] = [
    ['project', project.name],
    ['succeeds', minSucceeded === null ? 'when all have ended' : `with ${count(minSucceeded)} succeeded`],
    ['fails', failsWith.length === 0 ? 'if one has failed at the end' : `with ${failsWith.join(' or ')}`],
    ['then', onFailure === 'STOP' ? 'running members are stopped' : 'running members run to their end'],
    ['at a time', maxRunning === null ? 'as many as there is room for' : count(maxRunning)],
    [
      'created',
      <>
        <Ago at={createdAt} />
        {createdBy !== null && ` by ${createdBy}`}
      </>,
    ],
    ['id', <code key="id">{group.groupId}</code>],
  ]
  return <FactsCard title="Limits" facts={facts} />
}

type Failed = UiGroupMembersQuery['chains']['edges'][number]['node']

interface FailedProps {
  group: Group
  /** Undefined until they are read. */
  chains: readonly Failed[] | undefined
  error: Error | undefined
  again: () => void
}

/** The members that failed last. */
function FailedMembers({ group: { groupId, counts }, chains, error, again }: FailedProps) {
  if (error) return <ProblemPanel error={error} onAgain={again} />
  if (chains === undefined || chains.length === 0) return null
  return (
    <TableCard
      title="Failed members"
      count={count(counts.failed)}
      none="None has failed."
      label="Failed members"
      rowClass="failed-row"
      columns={FAILED_COLUMNS}
      rows={chains}
      foot={
        counts.failed > chains.length && (
          <Link to="/chains" search={{ group: groupId, state: 'failed' }} className="text-link">
            All {count(counts.failed)} failed members
          </Link>
        )
      }
    />
  )
}

const FAILED_COLUMNS: readonly Column<Failed>[] = [
  { title: 'Index', className: 'failed-index', cell: ({ groupIndex }) => count(groupIndex!) },
  {
    title: 'Chain',
    className: 'named',
    cell: ({ chainId, name, attempts }) => (
      <>
        <Link to="/chains/$chainId" params={{ chainId }} className="table-link" title={name}>
          {name}
        </Link>
        {attempts > 1 && <span className="table-tag">{counted(attempts, 'attempt')}</span>}
      </>
    ),
  },
  {
    title: 'Why',
    className: 'failed-why',
    hint: ({ newestAttempt }) => newestAttempt.statusReason,
    cell: (chain) => <Why chain={chain} />,
  },
  { title: 'Ended', className: 'failed-ended', cell: ({ endedAt }) => endedAt !== null && <Ago at={endedAt} /> },
]

function Why({ chain: { cause, newestAttempt } }: { chain: Failed }) {
  const { exitCode, timedOut, batchTimeout } = newestAttempt
  const kind = kindOf({ failureCause: cause, timedOut })
  return (
    <span className="with-mark">
      <CauseMark {...lookOfCause(kind, exitCode)} />
      {causeInWords(kind, exitCode, limitInWords(batchTimeout))}
    </span>
  )
}

const memberRoute = getRouteApi('/frame/groups/$groupId/$index')

/** The page of a member: leads to its chain. */
export function MemberPage() {
  const { groupId, index: text } = memberRoute.useParams()
  const index = /^\d{1,9}$/.test(text) ? Number(text) : null
  const navigate = useNavigate()
  const [{ data, error }, again] = useQuery({
    query: UiGroupMemberDocument,
    variables: { id: groupId, index: index ?? 0 },
    pause: index === null,
    requestPolicy: 'network-only',
  })
  useTitle('Member of a group')
  const chainId = data?.sessionGroup?.member?.chainId
  useEffect(() => {
    if (chainId !== undefined) void navigate({ to: '/chains/$chainId', params: { chainId }, replace: true })
  }, [chainId, navigate])
  if (error) return <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
  if (index === null || (data !== undefined && chainId === undefined)) return <Missing noun="member" list="/groups" />
  return <Skeleton />
}
