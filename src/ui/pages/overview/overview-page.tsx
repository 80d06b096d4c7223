import { getRouteApi, Link } from '@tanstack/react-router'
import { wordOfCause } from '../../app/causes.ts'
import { IgnoredParameters } from '../../app/list/list-page.tsx'
import { useLinkTo } from '../../app/list/row-link.tsx'
import { RANGE_NAMES, type RangeWord } from '../../app/list/time-range.ts'
import { useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { Switches } from '../../app/retry/switches.tsx'
import { CauseBars } from '../../charts/cause-bars.tsx'
import { byKind, causesOf } from '../../charts/cause-stacks.ts'
import { CauseLegend, CauseTable } from '../../charts/cause-table.tsx'
import { Choice } from '../../design/controls.tsx'
import { Panel } from '../../design/panel.tsx'
import { NextRetries } from './next-retries.tsx'
import { OnCall } from './on-call.tsx'
import { AgentsPanel, ChainLines, Tiles } from './overview-parts.tsx'
import { type Overview, useOverview } from './use-overview.ts'
import './overview.css'

const route = getRouteApi('/frame/')

/** The state of everything at a glance, with what needs attention at the top. */
export function OverviewPage() {
  const { range = '24h', project, dropped } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, error, again, statistics, latest } = useOverview(project, range)
  useTitle('Overview')
  return (
    <div className="overview-page">
      <div className="overview-head">
        <h1 tabIndex={-1}>Overview</h1>
        <Choice
          label="Time"
          value={range}
          names={RANGE_NAMES}
          onChange={(chosen) =>
            void navigate({
              search: { project, range: chosen === '24h' ? undefined : chosen },
              replace: true,
            })
          }
        />
      </div>
      <IgnoredParameters names={dropped} />
      {data && <Outdated error={error} />}
      {data ? (
        <>
          <Switches queue={data} project={project} onDone={again} />
          <OnCall data={data} project={project} />
          <Tiles data={data} statistics={statistics} range={range} project={project} />
          <div className="overview-columns">
            <div className="overview-wide">
              <Causes statistics={statistics} range={range} project={project} />
              <Panel
                title="Failed for good"
                aside={
                  <Link
                    to="/chains"
                    search={{ ...(project !== undefined && { project }), state: 'failed', since: range }}
                  >
                    See all
                  </Link>
                }
              >
                {data.failed.edges.length > 0 ? (
                  <ChainLines chains={data.failed.edges} />
                ) : (
                  <p className="panel-empty">No chain has failed in the {RANGE_NAMES[range]}.</p>
                )}
              </Panel>
              <Panel
                title="Latest"
                aside={
                  <Link to="/chains" search={project === undefined ? {} : { project }}>
                    See all
                  </Link>
                }
              >
                {latest && latest.length > 0 ? (
                  <ChainLines chains={latest} />
                ) : (
                  <p className="panel-empty">{latest ? 'There is no chain yet.' : ''}</p>
                )}
              </Panel>
            </div>
            <div className="overview-narrow">
              <NextRetries data={data} project={project} />
              <AgentsPanel groups={data.resourceGroups} />
            </div>
          </div>
        </>
      ) : error ? (
        <ProblemPanel error={error} onAgain={again} />
      ) : (
        <OverviewSkeleton />
      )}
    </div>
  )
}

function Causes(props: { statistics: Overview['statistics']; range: RangeWord; project: string | undefined }) {
  const { statistics, range, project } = props
  const linkTo = useLinkTo()
  const moments = useMoments()
  const of = project === undefined ? {} : { project }
  const buckets = statistics?.buckets.map(byKind) ?? []
  const causes = causesOf(buckets)
  const ranged = range === '24h' ? {} : { range }
  return (
    <Panel
      title="Failures by cause"
      aside={
        <Link to="/failures" search={{ ...of, ...ranged }}>
          See all
        </Link>
      }
    >
      {statistics && causes.length === 0 ? (
        <p className="panel-empty causes-empty">No attempt has failed in the {RANGE_NAMES[range]}.</p>
      ) : (
        <>
          <CauseBars
            moments={moments}
            label={`Failed attempts by cause, ${RANGE_NAMES[range]}`}
            buckets={buckets}
            linkOf={({ from, to }) => linkTo({ to: '/chains', search: { ...of, failed: 'any', from, to } })}
          />
          <CauseLegend
            causes={causes}
            linkOf={(cause) => linkTo({ to: '/failures', search: { ...of, cause: wordOfCause(cause), ...ranged } })}
          />
          <CauseTable moments={moments} buckets={buckets} />
        </>
      )}
    </Panel>
  )
}

/** A placeholder with the heights of the page's parts. */
function OverviewSkeleton() {
  return (
    <div className="skeleton overview-skeleton" aria-hidden="true">
      <span className="overview-skeleton-tiles" />
      <span className="overview-skeleton-panels" />
    </div>
  )
}
