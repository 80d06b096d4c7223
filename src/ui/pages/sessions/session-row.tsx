import { Link } from '@tanstack/react-router'
import { Ago } from '../../app/ago.tsx'
import { startNote } from '../../app/chain/start-note.ts'
import { CauseMark } from '../../design/cause-mark.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { CancelledIcon, RunningIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import type { Steady } from '../../app/list/steady-rows.ts'
import type { UiSessionRowFragment } from './sessions.generated.ts'

interface Props {
  session: Steady<UiSessionRowFragment>
  rowIndex: number
  showsProject: boolean
}

export function SessionRow({ session, rowIndex, showsProject }: Props) {
  const { chainId, attempt, name, sessionType, project, resourceGroup, statusChangedAt, createdAt, isGone } = session
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row session-row" data-gone={isGone}>
      <span role="cell" className="session-name named">
        <Link to="/chains/$chainId" params={{ chainId }} search={{ attempt }} className="table-link" title={name}>
          {name}
        </Link>
        {showsProject && <span className="table-tag">{project.name}</span>}
      </span>
      <span role="cell" className="session-type">
        {sessionType.toLowerCase()}
      </span>
      <span role="cell" className="session-attempt">
        <span className="session-word">attempt </span>
        {attempt}
      </span>
      <span role="cell" className="session-status">
        <Status session={session} />
      </span>
      <span role="cell" className="session-group" title={resourceGroup.name}>
        {resourceGroup.name}
      </span>
      <span role="cell" className="session-since">
        <Ago at={statusChangedAt} said="since" />
      </span>
      <span role="cell" className="session-created">
        <Ago at={createdAt} said="created" />
      </span>
    </div>
  )
}

/** As an icon and words; why, as far as there is a reason. */
function Status({
  session: { status, result, failureCause, exitCode, pendingReason, statusReason },
}: Pick<Props, 'session'>) {
  if (status === 'ERROR') {
    return (
      <>
        <CauseMark {...lookOfCause(failureCause, exitCode)} />
        <span className="cut" title={statusReason ?? undefined}>
          {causeInWords(failureCause, exitCode)}
        </span>
      </>
    )
  }
  const [Icon, tone, words] = lookOfStatus(status, result)
  const why = pendingReason ?? startNote({ status, statusReason })
  return (
    <>
      <Icon className={`tone-${tone}`} />
      <span>{words}</span>
      {why !== null && (
        <span className="session-why" title={why}>
          {why}
        </span>
      )}
    </>
  )
}

function lookOfStatus(status: UiSessionRowFragment['status'], result: UiSessionRowFragment['result']) {
  if (status === 'PENDING') return [WaitingIcon, 'queued', 'waiting'] as const
  if (status === 'RUNNING') return [RunningIcon, 'running', 'running'] as const
  if (status === 'TERMINATING') return [RunningIcon, 'queued', 'ending'] as const
  if (status === 'CANCELLED') return [CancelledIcon, 'unknown', 'terminated'] as const
  if (status !== 'TERMINATED') return [WaitingIcon, 'running', 'starting'] as const
  return result === 'SUCCESS'
    ? ([SucceededIcon, 'succeeded', 'succeeded'] as const)
    : ([CancelledIcon, 'unknown', 'terminated'] as const)
}
