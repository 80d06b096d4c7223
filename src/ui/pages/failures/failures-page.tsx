import { getRouteApi } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { CAUSES, causeFilter, wordOfCause } from '../../app/causes.ts'
import { IgnoredParameters, useChangeSearch, useRowKeys } from '../../app/list/list-page.tsx'
import { useLinkTo } from '../../app/list/row-link.tsx'
import { GROUPINGS, type SearchOf } from '../../app/list/search.ts'
import { RANGE_NAMES, spanOf } from '../../app/list/time-range.ts'
import { useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { CauseBars } from '../../charts/cause-bars.tsx'
import { byKind, type CauseBucket, causesOf } from '../../charts/cause-stacks.ts'
import { CauseLegend, CauseTable } from '../../charts/cause-table.tsx'
import { Choice } from '../../design/controls.tsx'
import { Panel, Skeleton } from '../../design/panel.tsx'
import { count, percentage } from '../../words/numbers.ts'
import { UiFailuresDocument, type UiFailuresQuery } from './failures.generated.ts'
import { Groups } from './groups.tsx'
import { Messages } from './messages.tsx'
import './failures.css'

const route = getRouteApi('/frame/failures')

const EVERY_MS = 10_000

/** The causes of failed attempts over time, what they say, and what they have in common. */
export function FailuresPage() {
  const search = route.useSearch()
  const { range = '24h', by = 'cause', cause, project, dropped } = search
  const moments = useMoments()
  const change = useChangeSearch<'failures'>()
  const { data, error, again } = usePolled(
    UiFailuresDocument,
    (now: number) => ({
      ...spanOf(range, now, moments.offsetMinutes(now)),
      project: project ?? null,
      by: GROUPINGS[by],
      ...(cause === undefined ? { cause: null } : causeFilter(CAUSES[cause])),
    }),
    EVERY_MS,
  )
  useRowKeys()
  useTitle('Failures')
  return (
    <div className="failures-page">
      <div className="failures-head">
        <h1 tabIndex={-1}>Failures</h1>
        <Choice
          label="Bars of"
          value={search.view ?? 'number'}
          names={{ number: 'numbers', share: 'shares' }}
          onChange={(view) => change({ view: view === 'share' ? 'share' : undefined })}
        />
        <Choice
          label="Time"
          value={range}
          names={RANGE_NAMES}
          onChange={(chosen) => change({ range: chosen === '24h' ? undefined : chosen })}
        />
      </div>
      <IgnoredParameters names={dropped} />
      {data && <Outdated error={error} />}
      {data ? (
        <>
          <OverTime data={data} search={search} />
          <Messages search={search} />
          <Groups data={data} search={search} onBy={(chosen) => change({ by: chosen })} />
        </>
      ) : error ? (
        <ProblemPanel error={error} onAgain={again} />
      ) : (
        <div className="panel">
          <Skeleton />
        </div>
      )}
    </div>
  )
}

function OverTime({ data, search }: { data: UiFailuresQuery; search: SearchOf<'failures'> }) {
  const { range = '24h', cause, project, view } = search
  const linkTo = useLinkTo()
  const moments = useMoments()
  const { total } = data.statistics
  const buckets = data.statistics.buckets.map(byKind)
  const causes = causesOf(buckets)
  const shown = cause === undefined ? buckets : buckets.map((bucket) => onlyOf(bucket, CAUSES[cause]))
  const of = project === undefined ? {} : { project }
  return (
    <Panel
      title="By cause"
      aside={
        total.ended > 0 && (
          <span className="failures-total">
            <b>{count(total.failed)}</b> of {count(total.ended)} attempts that ended failed,{' '}
            {percentage(total.failed, total.ended)}
          </span>
        )
      }
    >
      {causes.length === 0 ? (
        <p className="panel-empty failures-empty">No attempt has failed in the {RANGE_NAMES[range]}.</p>
      ) : (
        <>
          <CauseBars
            moments={moments}
            label={`Failed attempts by cause, ${RANGE_NAMES[range]}`}
            buckets={shown}
            height={248}
            isShare={view === 'share'}
            linkOf={({ from, to }) => linkTo({ to: '/chains', search: { ...of, failed: cause ?? 'any', from, to } })}
          />
          <CauseLegend
            causes={causes}
            chosen={cause && CAUSES[cause]}
            linkOf={(each) => {
              const word = wordOfCause(each)
              const { dropped: _, ...kept } = search
              return linkTo({
                to: '/failures',
                search: { ...kept, cause: word === cause ? undefined : word },
                replace: true,
              })
            }}
          />
          <CauseTable moments={moments} buckets={shown} />
        </>
      )}
    </Panel>
  )
}

function onlyOf(bucket: CauseBucket, cause: string): CauseBucket {
  return { ...bucket, byCause: bucket.byCause.filter((each) => each.cause === cause) }
}
