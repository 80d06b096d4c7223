import type { ComponentType } from 'react'
import type { DeploymentStatus, RouteStatus } from '../../../client/schema-types.generated.ts'
import { CancelledIcon, FailedIcon, HeldIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import { counted } from '../../words/numbers.ts'
import './deployments.css'

interface Look {
  icon: ComponentType<{ className?: string }>
  tone: 'succeeded' | 'running' | 'held' | 'exit' | 'unknown'
  name: string
}

const MOVING: Look = { icon: WaitingIcon, tone: 'running', name: 'moving' }

const DEPLOYMENTS: Readonly<Record<DeploymentStatus, Look>> = {
  PENDING: MOVING,
  CREATED: MOVING,
  DEPLOYING: MOVING,
  SCALING: MOVING,
  READY: { icon: SucceededIcon, tone: 'succeeded', name: 'ready' },
  DESTROYING: { icon: HeldIcon, tone: 'held', name: 'ending' },
  DESTROYED: { icon: CancelledIcon, tone: 'unknown', name: 'destroyed' },
}

const ROUTES: Readonly<Record<RouteStatus, Look>> = {
  PROVISIONING: { icon: WaitingIcon, tone: 'running', name: 'starting' },
  DEGRADED: { icon: WaitingIcon, tone: 'held', name: 'unchecked' },
  HEALTHY: { icon: SucceededIcon, tone: 'succeeded', name: 'healthy' },
  UNHEALTHY: { icon: FailedIcon, tone: 'exit', name: 'unhealthy' },
  TERMINATING: { icon: HeldIcon, tone: 'held', name: 'ending' },
  FAILED_TO_START: { icon: FailedIcon, tone: 'exit', name: 'failed to start' },
  TERMINATED: { icon: CancelledIcon, tone: 'unknown', name: 'ended' },
}

export function DeploymentStatusMark({ status }: { status: DeploymentStatus }) {
  return <Mark {...DEPLOYMENTS[status]} />
}

export function RouteStatusMark({ status }: { status: RouteStatus }) {
  return <Mark {...ROUTES[status]} />
}

function Mark({ icon: Icon, tone, name }: Look) {
  return (
    <span className="with-mark">
      <Icon className={`tone-${tone}`} />
      {name}
    </span>
  )
}

/** More replicas than this are shown as a number only. */
const SQUARES_MAX = 16
const LIVE: readonly RouteStatus[] = ['HEALTHY', 'DEGRADED', 'UNHEALTHY', 'PROVISIONING', 'TERMINATING']

/** A square for each replica, healthy ones first; dashed ones have not started yet. */
export function Replicas(props: {
  wanted: number
  healthy: number
  counts: readonly { status: RouteStatus; count: number }[]
}) {
  const { wanted, healthy, counts } = props
  const live = LIVE.flatMap((status) =>
    Array.from({ length: counts.find((each) => each.status === status)?.count ?? 0 }, () => status),
  )
  const missing = Math.max(0, wanted - live.filter((status) => status !== 'TERMINATING').length)
  const squares = [...live, ...Array.from({ length: missing }, () => null)].slice(0, SQUARES_MAX)
  const words = LIVE.flatMap((status) => {
    const { count = 0 } = counts.find((each) => each.status === status) ?? {}
    return count === 0 ? [] : [`${count} ${ROUTES[status].name}`]
  })
  const title = [...words, ...(missing > 0 ? [`${missing} to be started`] : [])].join(', ')
  return (
    <span className="replicas" title={title || counted(wanted, 'replica')}>
      <span className="replica-squares" aria-hidden="true">
        {squares.map((status, index) => (
          <span
            // oxlint-disable-next-line react/no-array-index-key -- equal ones
            key={`${status} ${index}`}
            className="replica-square"
            data-tone={status === null ? undefined : ROUTES[status].tone}
          />
        ))}
      </span>
      <span className="replica-count">
        {healthy} of {wanted}
        <span className="visually-hidden"> healthy</span>
      </span>
    </span>
  )
}
