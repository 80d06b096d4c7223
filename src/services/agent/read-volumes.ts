import { readVolumeRows, type Volume } from '../../store/sql/agent/read-volumes.sql.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'

export type { Volume }

/** Of all agents, those that sessions of the viewer's project may use, by name; of no project: all. */
export function readVolumes({ db }: Pick<ServiceContext, 'db'>, { projectId }: Viewer): Promise<Volume[]> {
  return readVolumeRows(db, projectId)
}
