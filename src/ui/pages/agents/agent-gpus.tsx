import { useState } from 'react'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { useViewer } from '../../app/viewer.ts'
import { Button } from '../../design/controls.tsx'
import { type Column, TableCard } from '../../design/table.tsx'
import { counted, roughAmount } from '../../words/numbers.ts'
import type { Agent } from './agent-parts.tsx'

const GpuDialog = lazyDialog(() => import('./agent-dialogs.tsx'), 'GpuDialog')

/**
 * The GPUs that the agent assigns, each with the sessions that have it. Administrators of the cluster take them out of
 * service, and return them. Nothing for an agent that has none.
 */
export function AgentGpus({ agent, again }: { agent: Agent; again: () => void }) {
  const { can, project } = useViewer()
  const [asked, setAsked] = useState<string | null>(null)
  const { gpus, gpuFault } = agent
  if (gpus.length === 0 && gpuFault === null) return null
  const gpu = gpus.find(({ uuid }) => uuid === asked)
  const close = () => setAsked(null)
  return (
    <>
      <TableCard
        title="GPUs"
        count={gpus.length === 0 ? undefined : counted(gpus.length, 'GPU')}
        none="It cannot see them now."
        label="GPUs"
        rowClass="gpu-row"
        columns={can.administer && project === null ? [...GPU_COLUMNS, changeColumn(setAsked)] : GPU_COLUMNS}
        rows={gpus.map((each) => ({ id: each.uuid, ...each }))}
        foot={gpuFault !== null && <span className="tone-held">{gpuFault}</span>}
      />
      {gpu && (
        <GpuDialog
          agent={agent}
          gpu={gpu}
          onDone={() => {
            close()
            again()
          }}
          onClose={close}
        />
      )}
    </>
  )
}

function changeColumn(onAsk: (uuid: string) => void): Column<Row> {
  return {
    title: 'Change',
    isHidden: true,
    headClass: 'gpu-act',
    className: 'gpu-act',
    cell: ({ uuid, index, fault }) => (
      <Button aria-label={fault === null ? `Take out GPU ${index}` : `Return GPU ${index}`} onClick={() => onAsk(uuid)}>
        {fault === null ? 'Take out…' : 'Return…'}
      </Button>
    ),
  }
}

type Row = Agent['gpus'][number] & { id: string }

const GPU_COLUMNS: readonly Column<Row>[] = [
  { title: 'GPU', cell: ({ index }) => index },
  { title: 'Model', className: 'agent-name', hint: ({ uuid }) => uuid, cell: ({ name }) => name },
  {
    title: '°C',
    cell: ({ temperatureCelsius }) => temperatureCelsius ?? '–',
  },
  {
    title: 'Memory',
    cell: ({ usedMemoryBytes: used, memoryBytes: all }) =>
      all === null ? '–' : used === null ? memory(all) : `${memory(used)} of ${memory(all)}`,
  },
  { title: 'Busy', cell: ({ utilization }) => (utilization === null ? '–' : `${Math.round(utilization * 100)} %`) },
  { title: 'Session', className: 'named', cell: holders },
  {
    title: 'Errors',
    className: 'failure-why',
    hint: ({ fault }) => fault,
    cell: ({ fault }) => fault !== null && <span className="tone-failed">out of service: {fault}</span>,
  },
]

function holders({ sessions, inUse }: Row) {
  if (sessions.length === 0) return inUse ? 'of another project' : 'free'
  return sessions.map((session) => <AttemptLink key={session.id} session={session} />)
}

/** In the units of slots. */
function memory(value: number): string {
  return roughAmount('mem', String(value))
}
