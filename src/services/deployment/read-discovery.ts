import type { Service } from '../../domain/deployment/discovery.ts'
import { readServices } from '../../store/sql/deployment/read-services.sql.ts'
import type { ServiceContext } from '../service-context.ts'

/** The deployments that the viewer sees, with their published endpoints, in a stable order. */
export function readDiscovery({ db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>): Promise<Service[]> {
  return readServices(db, viewer.projectId)
}
