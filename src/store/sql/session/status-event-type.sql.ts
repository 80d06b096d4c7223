/** The type of the event for a session that moved to status "to". */
export const STATUS_EVENT_TYPE = `CASE "to" WHEN 'TERMINATED' THEN 'session.terminated' WHEN 'ERROR' THEN 'session.error'
      WHEN 'CANCELLED' THEN 'session.cancelled' ELSE 'session.status_changed' END`
