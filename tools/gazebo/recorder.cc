// A plugin of a Gazebo Classic world: drives the joints of its first model, records them and the gaps of its loops, and
// ends the server.
//
// Its SDF lists <joint name start amplitude p i d/>: the joint follows start + amplitude sin(2 pi frequency t) by the PID of
// Gazebo's own JointController. Without entries nothing drives the model.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gazebo/gazebo.hh>
#include <gazebo/physics/physics.hh>

namespace {

using ignition::math::Vector3d;

struct Driven {
  gazebo::physics::JointPtr joint;
  double start, amplitude;
};

// The same point of a loop in the frames of the two links that it joins.
struct Loop {
  gazebo::physics::LinkPtr parent, child;
  Vector3d in_parent, in_child;

  double gap() const {
    const auto a = parent->WorldPose(), b = child->WorldPose();
    return (a.Pos() + a.Rot() * in_parent - b.Pos() - b.Rot() * in_child).Length();
  }
};

}  // namespace

class Recorder : public gazebo::WorldPlugin {
 public:
  void Load(gazebo::physics::WorldPtr world, sdf::ElementPtr sdf) override {
    world_ = world;
    duration_ = sdf->Get<double>("duration");
    frequency_ = sdf->Get<double>("frequency");
    output_.open(sdf->Get<std::string>("output"));
    sdf_ = sdf;
    connection_ = gazebo::event::Events::ConnectWorldUpdateBegin([this](const auto&) { step(); });
  }

 private:
  void begin() {
    model_ = world_->ModelByIndex(0);
    for (const auto& joint : model_->GetJoints()) {
      if (joint->HasType(gazebo::physics::Base::BALL_JOINT)) {
        const auto parent = joint->GetParent(), child = joint->GetChild();
        const auto p = parent->WorldPose(), c = child->WorldPose();
        const Vector3d at = joint->WorldPose().Pos();
        loops_.push_back({parent, child, p.Rot().RotateVectorReverse(at - p.Pos()),
                          c.Rot().RotateVectorReverse(at - c.Pos())});
      } else if (joint->DOF() == 1) {
        joints_.push_back(joint);
      }
    }
    const auto controller = model_->GetJointController();
    for (auto entry = sdf_->HasElement("joint") ? sdf_->GetElement("joint") : nullptr; entry;
         entry = entry->GetNextElement("joint")) {
      const auto joint = model_->GetJoint(entry->Get<std::string>("name"));
      if (!joint) gzthrow("no joint " + entry->Get<std::string>("name"));
      const double effort = entry->Get<double>("effort");
      controller->SetPositionPID(joint->GetScopedName(),
                                 {entry->Get<double>("p"), entry->Get<double>("i"), entry->Get<double>("d"), effort,
                                  -effort, effort, -effort});
      driven_.push_back({joint, entry->Get<double>("start"), entry->Get<double>("amplitude")});
    }
    output_.precision(9);
    output_ << "t,wall,gap";
    for (const auto& joint : joints_) output_ << ',' << joint->GetName();
    output_ << '\n';
    begun_ = std::chrono::steady_clock::now();
  }

  void step() {
    if (!model_) begin();
    const double t = world_->SimTime().Double();
    const double phase = std::sin(2.0 * M_PI * frequency_ * t);
    for (const auto& each : driven_)
      model_->GetJointController()->SetPositionTarget(each.joint->GetScopedName(), each.start + each.amplitude * phase);
    if (count_++ % 10 == 0) {
      double gap = 0.0;
      for (const auto& loop : loops_) gap = std::max(gap, loop.gap());
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun_;
      output_ << t << ',' << wall.count() << ',' << gap;
      for (const auto& joint : joints_) output_ << ',' << joint->Position(0);
      output_ << std::endl;
    }
    if (t >= duration_) std::_Exit(0);  // Gazebo cannot be shut down from its own thread; every line was flushed
  }

  gazebo::physics::WorldPtr world_;
  gazebo::physics::ModelPtr model_;
  gazebo::event::ConnectionPtr connection_;
  sdf::ElementPtr sdf_;
  std::vector<gazebo::physics::JointPtr> joints_;
  std::vector<Driven> driven_;
  std::vector<Loop> loops_;
  std::ofstream output_;
  std::chrono::steady_clock::time_point begun_;
  double duration_ = 0.0, frequency_ = 0.0;
  long count_ = 0;
};

GZ_REGISTER_WORLD_PLUGIN(Recorder)
