//! Readiness of composed objects, for Crossplane's own `Ready`.

use function_kit::{Call, value};

use crate::composed::Part;
use crate::conditions::workload;
use crate::observe::{Observation, ObservedObject, Scaler, State};

/// Sets the readiness of each of our objects. One whose readiness is not set counts as unready, so
/// no other function needs to check them; objects of other functions are left to those. While one of
/// ours is unready, the actor is said to be.
pub(crate) fn tell(call: &mut Call, seen: &Observation) {
    for name in call.desired_names() {
        if let Some(part) = Part::of(&name) {
            let ready = is_ready(part, &name, call, seen);
            call.set_ready(&name, ready);
            if !ready {
                call.set_xr_unready();
            }
        }
    }
}

fn scales(scaler: &ObservedObject<Scaler>) -> bool {
    let scaler = scaler.present();
    scaler.is_some_and(|scaler| scaler.paused || matches!(scaler.state, State::Ready))
}

fn is_ready(part: Part, name: &str, call: &Call, seen: &Observation) -> bool {
    let Some(object) = call.observed(name) else {
        return false;
    };
    match part {
        Part::Queue => matches!(&seen.queue, ObservedObject::Present(queue) if queue.ready),
        // An actor that naps is ready.
        Part::Workload => workload(seen).is_true(),
        Part::Scaler => scales(&seen.scaler),
        Part::TargetScaler => scales(&seen.target_scaler),
        Part::Binding => {
            // Ready may still describe a former target.
            let mut resolved = seen
                .target
                .iter()
                .filter_map(|target| target.resolved.as_ref());
            let ready = value::condition(object, "Ready");
            resolved.next().is_some()
                && ready.is_some_and(|ready| value::text(ready, &["status"]) == Some("True"))
        }
        Part::ScalerAccess | Part::Support => true,
    }
}
